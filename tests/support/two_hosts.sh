# Two hosts for Open MPI's mpirun, which are network namespaces with a cable between them: sourced
# by tests and measurements. Only root can make them. The caller has $tmp, a folder of its own, and
# $options, of its mpirun.

host_a=ccs$$a
host_b=ccs$$b

drop_hosts() {
	ip netns del $host_a
	ip netns del $host_b
} 2>/dev/null

# 1: this machine does not let us; $tmp/why says why.
make_hosts() {
	{ ip netns add $host_a && ip netns add $host_b &&
		ip link add $host_a netns $host_a type veth peer name $host_b netns $host_b &&
		ip -n $host_a addr add 10.213.7.1/24 dev $host_a &&
		ip -n $host_b addr add 10.213.7.2/24 dev $host_b &&
		ip -n $host_a link set $host_a up && ip -n $host_b link set $host_b up &&
		ip -n $host_a link set lo up && ip -n $host_b link set lo up &&
		ip netns exec $host_b unshare --uts --pid --fork --mount-proc true
	} >"$tmp/why" 2>&1 || return 1
	cat >"$tmp/agent" <<EOS
#!/bin/sh
shift
exec ip netns exec $host_b unshare --uts --pid --fork --mount-proc sh -c "hostname $host_b; \$*"
EOS
	chmod +x "$tmp/agent"
}

# hosts N COMMAND...: half of the ranks on each. MPI leaves the core to the kernel, which moves
# the packets on the same cores here.
hosts() {
	half=$(($1 / 2))
	shift
	timeout 200 ip netns exec $host_a unshare --uts sh -c "hostname $host_a; exec mpirun $options \
		--mca plm_rsh_agent $tmp/agent --mca btl tcp,self --mca mpi_yield_when_idle 1 \
		--mca btl_tcp_if_include 10.213.7.0/24 --mca oob_tcp_if_include 10.213.7.0/24 \
		--host $host_a:$half,10.213.7.2:$half -np $((2 * half)) $*"
}
