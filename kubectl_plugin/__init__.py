"""`kubectl qos`: the command line over the rules of `podrules`.

    start       the entry points of the console scripts
    completion  the completions that kubectl asks for
    manual      the manual pages, made from the commands' help
    cli         the command line, streams and exit codes; the only module that exits
    options     one declaration per flag, and the struct of each command's flags
    parsing     the typed words to a command and its flags, and mistyped ones to advice
    connection  flags to a source of objects
    commands    one module per command: targets to reports
    gather      the objects of an answer, read once
    changes     the commands that change something
    watch       the same answer again after each change
    reports     results of rules for one object: data, with a versioned JSON form
    views       reports to text
    html        the report's page
    glossary    explanations of terms and of upstream's own messages
    printing    the output that -o selects: pages at once, data at the end
    render      text to a terminal: layout, colour, escaping; reports to JSON and YAML

Imports that would slow the start are inside functions: the command line answers ``--help`` without loading a rule.
"""
