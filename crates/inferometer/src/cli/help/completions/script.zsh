#compdef inferometer
# Completion of inferometer for zsh, in ~/.zshrc behind compinit: eval "$(inferometer completions zsh)"
_inferometer() {
    local -a whole shown open opened
    local entry text about
    for entry in "${(@f)$("${~words[1]}" complete zsh -- "${(@Q)words[1,CURRENT]}" 2>/dev/null)}"; do
        [[ -n $entry ]] || continue
        text=${entry%%$'\t'*}
        about=$text
        [[ $entry == *$'\t'* ]] && about="$text  -- ${entry#*$'\t'}"
        if [[ $text == *[=:/,@\<] ]]; then
            open+=("$text")
            opened+=("$about")
        else
            whole+=("$text")
            shown+=("$about")
        fi
    done
    (( ${#whole} )) && compadd -l -d shown -a whole
    (( ${#open} )) && compadd -S '' -l -d opened -a open
}
if [[ ${funcstack[1]} == _inferometer ]]; then
    _inferometer "$@"
else
    compdef _inferometer inferometer
fi
