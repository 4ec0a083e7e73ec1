from parity.inference.kernel_time_limit import COMPILING, TimeLimit


def test_steps_and_trials_of_a_template_share_its_time():
    now = [0.0]
    limit = TimeLimit(60, clock=lambda: now[0])
    with limit.step(("m", "one")):
        assert limit.deadline() == 30, "half of it"
        now[0] = 20
        with limit.step(("m", "two")):
            assert limit.deadline() == 50
            now[0] = 30
        now[0] = 40
        assert limit.deadline() == 55, "half of what is left"
    limit.charge(("m", "one"), 12)
    assert (limit.left(("m", "one")), limit.left(("m", "two"))) == (18, 50)
    limit.charge(("m", "one"), 1000)
    assert limit.left(("m", "one")) == 0


def test_compiling_leaves_time_for_launches():
    limit = TimeLimit(60)
    limit.compile("m", 10)
    limit.compile("m", 10)
    assert (limit.left(("m", "one")), limit.left(("n", "one"))) == (40, 60)
    limit.compile("m", 1000)
    assert limit.left(("m", "one")) == (1 - COMPILING) * 60
