import asyncio
import threading

import pytest

from opsdk import static
from opsdk.core.errors import ProgramError


def test_the_guard_makes_both_programs_the_default_ones():
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        found = static.default_main_program(), static.default_startup_program()
    assert found == (main, startup)


def test_after_the_guard_the_former_programs_are_back(main, startup):
    with static.program_guard(static.Program(), static.Program()):
        pass
    assert (static.default_main_program(), static.default_startup_program()) == (main, startup)


def test_after_an_exception_in_the_guard_the_former_programs_are_back(main):
    with pytest.raises(KeyError), static.program_guard(static.Program()):
        raise KeyError
    assert static.default_main_program() is main


def test_without_a_startup_program_the_default_one_stays(startup):
    with static.program_guard(static.Program()):
        assert static.default_startup_program() is startup


@pytest.mark.parametrize(("arguments", "role"), [((None,), "main_program"), ((static.Program(), 3), "startup_program")])
def test_only_programs_are_taken(arguments, role):
    with (
        pytest.raises(ProgramError, match=f"program_guard: {role} expected a Program, got"),
        static.program_guard(*arguments),
    ):
        pass


def test_every_thread_has_its_own_guard(main):
    found = []
    thread = threading.Thread(target=lambda: found.append(static.default_main_program()))
    thread.start()
    thread.join()
    assert found[0] is not main


def test_data_goes_to_the_default_main_program(main):
    static.data("x", [2], "float32")
    assert main.global_block().has_var("x")


def test_a_task_that_waits_inside_the_guard_leaves_other_tasks_their_programs(main):
    async def build(program, begun, may_end):
        with static.program_guard(program):
            begun.set()
            await may_end.wait()
            static.data("x", [2], "float32")

    async def both():
        programs = static.Program(), static.Program()
        begun, end = [asyncio.Event(), asyncio.Event()], asyncio.Event()
        tasks = [asyncio.create_task(build(p, event, end)) for p, event in zip(programs, begun, strict=True)]
        for event in begun:
            await event.wait()
        assert static.default_main_program() is main
        end.set()
        await asyncio.gather(*tasks)
        return [list(program.global_block().vars) for program in programs]

    assert asyncio.run(both()) == [["x"], ["x"]]
    assert static.default_main_program() is main
