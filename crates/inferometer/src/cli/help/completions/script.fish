# Completion of inferometer for fish: inferometer completions fish | source
function __inferometer_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    command $words[1] complete fish -- $words "$typed" 2>/dev/null
end
complete -c inferometer -f -a '(__inferometer_complete)'
