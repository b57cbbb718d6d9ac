/*
 * The time of a plan on a machine, by SimGrid (Casanova and others, 2014): a referee of `ccc simulate` for links
 * that several messages share. SimGrid shares them like a fluid, max-min fair.
 *
 * In, words on the standard input: "ranks N", "slots K", "cost CALL STEP WORKER REDUCE" (ticks of 1 s, bytes/s; 0: no
 * limit), then "fifo SRC DST LATENCY LINK..." with links by number, "link BANDWIDTH", "worker RANK", and for the last
 * worker "op IN OUT REDUCES NWAITS (WORKER OPS)... NTILES BYTES...", with FIFOs by number, -1: none. Out: seconds.
 *
 * Links have no latency here, as SimGrid gives the messages of longer paths less; a message's latency is
 * waited for by its receiver.
 */
#include <algorithm>
#include <iostream>
#include <queue>
#include <string>
#include <vector>

#include <simgrid/s4u.hpp>

namespace sg4 = simgrid::s4u;

struct Fifo {
	int src, dst;
	double latency;
	std::vector<int> links;
	sg4::Mailbox *box;
	sg4::SemaphorePtr slots, posted;
	std::queue<std::pair<double, double>> tiles; // bytes, rate of the worker or -1
};

struct Op {
	int in, out;
	bool reduces;
	std::vector<std::pair<int, int>> waits;
	std::vector<double> bytes; // by tile
};

struct Worker {
	int rank;
	std::vector<Op> ops;
	long done = 0;
};

static std::vector<Fifo> fifos;
static std::vector<double> links;
static std::vector<Worker> workers;
static int ranks = 0, slots = 1;
static double end; // of the last worker
static double call, step, worker_rate, reduce_rate;
static sg4::MutexPtr mutex;
static sg4::ConditionVariablePtr progress;

static void give_back(sg4::SemaphorePtr slot, double latency)
{
	sg4::this_actor::sleep_for(latency);
	slot->release();
}

// The messages of a FIFO go one after another.
static void send(int fifo)
{
	static char message;
	Fifo &f = fifos[fifo];

	for (;;) {
		f.posted->acquire();
		auto [bytes, rate] = f.tiles.front();
		f.tiles.pop();
		f.box->put_init(&message, (uint64_t)std::max(bytes, 1.0))->set_rate(rate)->wait();
	}
}

static void wait_for(const Op &op, size_t tile)
{
	for (auto [worker, ops] : op.waits) {
		const Worker &w = workers[worker];
		long need = (long)(tile * w.ops.size()) + ops;
		std::unique_lock<sg4::Mutex> lock(*mutex);
		while (w.done < need)
			progress->wait(lock);
	}
}

static void run(int number)
{
	Worker &w = workers[number];
	size_t ntiles = w.ops.empty() ? 0 : w.ops[0].bytes.size();

	for (size_t tile = 0; tile < ntiles; tile++)
		for (const Op &op : w.ops) {
			double bytes = op.bytes[tile], rate = worker_rate;

			wait_for(op, tile);
			if (op.in >= 0) {
				char *message;
				sg4::CommPtr got = fifos[op.in].box->get_async<char>(&message);
				got->wait();
				double there = got->get_finish_time() + fifos[op.in].latency;
				sg4::this_actor::sleep_until(there);
			}
			if (op.out >= 0)
				fifos[op.out].slots->acquire();
			if (op.in >= 0 || op.out >= 0)
				sg4::this_actor::sleep_for(step);
			if (op.reduces && reduce_rate > 0 && (rate <= 0 || reduce_rate < rate))
				rate = reduce_rate;
			if (op.out >= 0) {
				fifos[op.out].tiles.push({ bytes, rate > 0 ? rate : -1 });
				fifos[op.out].posted->release();
			}
			if (rate > 0)
				sg4::this_actor::sleep_for(bytes / rate);
			if (op.in >= 0)
				sg4::Actor::create("credit", sg4::this_actor::get_host(), give_back, fifos[op.in].slots,
						   fifos[op.in].latency);
			w.done++;
			progress->notify_all();
		}
	end = std::max(end, sg4::Engine::get_clock());
}

static void read_input()
{
	std::string word;

	while (std::cin >> word) {
		if (word == "ranks") {
			std::cin >> ranks;
		} else if (word == "slots") {
			std::cin >> slots;
		} else if (word == "cost") {
			std::cin >> call >> step >> worker_rate >> reduce_rate;
		} else if (word == "link") {
			double bandwidth;
			std::cin >> bandwidth;
			links.push_back(bandwidth);
		} else if (word == "fifo") {
			Fifo f;
			int n;
			std::cin >> f.src >> f.dst >> f.latency >> n;
			for (int link; n-- > 0 && std::cin >> link;)
				f.links.push_back(link);
			fifos.push_back(f);
		} else if (word == "worker") {
			Worker w;
			std::cin >> w.rank;
			workers.push_back(w);
		} else if (word == "op") {
			Op op;
			int n;
			std::cin >> op.in >> op.out >> op.reduces >> n;
			for (int worker, ops; n-- > 0 && std::cin >> worker >> ops;)
				op.waits.push_back({ worker, ops });
			std::cin >> n;
			for (double bytes; n-- > 0 && std::cin >> bytes;)
				op.bytes.push_back(bytes);
			workers.back().ops.push_back(op);
		}
	}
}

static void make_platform()
{
	auto *zone = sg4::create_full_zone("machine");
	std::vector<sg4::Host *> hosts;
	std::vector<sg4::Link *> made;
	std::vector<bool> routed((size_t)(ranks * ranks));

	for (int r = 0; r < ranks; r++)
		hosts.push_back(zone->create_host("rank" + std::to_string(r), 1e9)->seal());
	for (size_t i = 0; i < links.size(); i++)
		made.push_back(zone->create_link("link" + std::to_string(i), links[i])->set_latency(0)->seal());
	for (Fifo &f : fifos) {
		std::vector<sg4::LinkInRoute> path;
		size_t pair = (size_t)(f.src * ranks + f.dst);

		for (int link : f.links)
			path.emplace_back(made[(size_t)link]);
		if (!routed[pair])
			zone->add_route(hosts[(size_t)f.src]->get_netpoint(), hosts[(size_t)f.dst]->get_netpoint(),
					nullptr, nullptr, path, false);
		routed[pair] = true;
	}
	zone->seal();
}

int main(int argc, char **argv)
{
	sg4::Engine engine(&argc, argv);

	sg4::Engine::set_config("network/model:CM02");
	sg4::Engine::set_config("network/TCP-gamma:0");
	sg4::Engine::set_config("network/crosstraffic:0");
	sg4::Engine::set_config("surf/precision:1e-12");
	read_input();
	make_platform();
	mutex = sg4::Mutex::create();
	progress = sg4::ConditionVariable::create();
	for (size_t f = 0; f < fifos.size(); f++) {
		fifos[f].box = sg4::Mailbox::by_name("fifo" + std::to_string(f));
		fifos[f].slots = sg4::Semaphore::create((unsigned)slots);
		fifos[f].posted = sg4::Semaphore::create(0);
		sg4::Actor::create("send", sg4::Host::by_name("rank" + std::to_string(fifos[f].src)), send, (int)f)->daemonize();
	}
	std::vector<sg4::ActorPtr> actors;
	for (size_t w = 0; w < workers.size(); w++) {
		auto *host = sg4::Host::by_name("rank" + std::to_string(workers[w].rank));
		actors.push_back(sg4::Actor::create("worker", host, run, (int)w));
		for (const Op &op : workers[w].ops)
			if (op.in >= 0) // so that messages start before they are asked for
				fifos[(size_t)op.in].box->set_receiver(actors.back());
	}
	engine.run();
	std::cout.precision(12);
	std::cout << call + end << "\n";
}
