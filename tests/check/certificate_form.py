"""What all checkers of certificates share: how they begin and end."""
import json, sys
def say(ok, what):
    if not ok: sys.exit("not proved: " + what)
def checked(main, kind):
    """Runs a checker on a certificate of its kind: what is not in a certificate's form is not proved either."""
    try:
        c = json.load(open(sys.argv[1]), parse_float=str, parse_constant=str) # no such numbers
        say(c["certificate"] == kind, "a certificate of kind %d" % kind)
        main(c, sys.argv[2:])
    except Exception as e: say(False, "the form: %r" % e)
