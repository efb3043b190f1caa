"""`kubectl qos`: the command line over the rules of `podrules`.

    start       where the console script begins
    completion  where kubectl asks for what may be typed
    manual      the manual pages, made from the words of the commands
    cli         what was typed; streams; exit codes; the only module that exits
    options     flags to a source of objects
    commands    one module a command: targets to reports
    reports     results of rules gathered for one object: data, with a versioned JSON form
    views       reports to words
    glossary    terms and upstream's own texts, explained
    printing    what -o asked for: pages as they come, data at the end
    render      words to a terminal: layout, colour, escaping; reports to JSON and YAML

Imports stand inside functions where they would slow the start: the command line answers ``--help`` without any rule.
"""
