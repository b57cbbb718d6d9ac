"""What all checkers of certificates share: how they begin and end, and pieces at numbers."""
import json, operator, sys
def say(ok, what):
    if not ok: sys.exit("not proved: " + what)
def checked(main, kind):
    """Runs a checker on a certificate of its kind: what is not in a certificate's form is not proved either."""
    try:
        c = json.load(open(sys.argv[1]))
        say(c["certificate"] == kind, "a certificate of kind %d" % kind)
        main(c, sys.argv[2:])
    except (AttributeError, IndexError, KeyError, StopIteration, TypeError, ValueError) as e: say(False, "the form: %r" % e)
def value_at(list_, numbers):
    """The values of the case that holds of these numbers, [1, parameters ..., point ...]; None: no one does."""
    f = lambda s: sum(map(operator.mul, s, numbers))
    return next(([f(s) for s in x["to"]] for x in list_ if all(f(s) >= 0 if kind == ">=" else f(s) == 0 for kind, s in x["if"])), None)
