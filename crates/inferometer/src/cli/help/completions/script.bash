# Completion of inferometer for bash, in ~/.bashrc: eval "$(inferometer completions bash)"
_inferometer() {
    local program=${COMP_WORDS[0]/#\~/$HOME} word
    COMPREPLY=()
    while IFS= read -r word; do
        COMPREPLY+=("$word")
    done < <("$program" complete bash -- "${COMP_LINE:0:COMP_POINT}" "${COMP_WORDS[COMP_CWORD]}" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=:/,@\<] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -F _inferometer inferometer
