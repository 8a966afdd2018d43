/** The completion scripts. They call `lodestone __complete` with the words up to the cursor, and read candidates and a directive. */

export const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const
export type Shell = (typeof SHELLS)[number]

// Bash splits words at the characters of COMP_WORDBREAKS, and replaces only the last part of the word.
const bash = String.raw`# bash completion for lodestone
_lodestone() {
  local line="${'$'}{COMP_LINE:0:COMP_POINT}" word last prefix option="" candidate description directive=0
  local -a words
  read -ra words <<< "$line"
  if [[ $line == *[[:space:]] ]]; then words+=(""); fi
  word="${'$'}{words[${'$'}{#words[@]}-1]}"
  last="$word"
  if [[ $COMP_WORDBREAKS == *=* ]]; then last="${'$'}{last##*=}"; fi
  if [[ $COMP_WORDBREAKS == *:* ]]; then last="${'$'}{last##*:}"; fi
  prefix="${'$'}{word%"$last"}"
  if [[ $word == -*=* ]]; then option="${'$'}{word%%=*}="; fi
  COMPREPLY=()
  while IFS=$'\t' read -r candidate description; do
    case "$candidate" in
      :[0-9]*) directive="${'$'}{candidate#:}" ;;
      ?*)
        candidate="$option$candidate"
        COMPREPLY+=("${'$'}{candidate#"$prefix"}")
        ;;
    esac
  done < <("${'$'}{words[0]}" __complete "${'$'}{words[@]:1}" 2>/dev/null)
  if (( directive & 2 )); then compopt -o nospace 2>/dev/null; fi
  if (( directive & 16 )); then
    compopt -o dirnames 2>/dev/null
  elif (( ! (directive & 4) )); then
    compopt -o default 2>/dev/null
  fi
}
complete -F _lodestone lodestone
`

const zsh = String.raw`#compdef lodestone
# zsh completion for lodestone
_lodestone() {
  local -a lines candidates flags
  local line value directive=0
  lines=("${'$'}{(@f)$("${'$'}{words[1]}" __complete "${'$'}{(@)words[2,CURRENT]}" 2>/dev/null)}")
  for line in "${'$'}{lines[@]}"; do
    value="${'$'}{line%%$'\t'*}"
    if [[ $line == :<-> ]]; then
      directive="${'$'}{line#:}"
    elif [[ $line == *$'\t'* ]]; then
      candidates+=("${'$'}{value//:/\\:}:${'$'}{line#*$'\t'}")
    elif [[ -n $line ]]; then
      candidates+=("${'$'}{value//:/\\:}")
    fi
  done
  compset -P '-*='
  if (( directive & 2 )); then flags=(-S ''); fi
  if (( ${'$'}{#candidates} )); then
    _describe 'completion' candidates "${'$'}{flags[@]}"
  elif (( directive & 16 )); then
    _files -/
  elif (( ! (directive & 4) )); then
    _files
  fi
}
if [[ ${'$'}{funcstack[1]} == _lodestone ]]; then
  _lodestone "$@"
else
  compdef _lodestone lodestone
fi
`

const fish = String.raw`# fish completion for lodestone
function __lodestone_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l option (string match -r -- '^-[^=]*=' "$word")
    set -l value (string replace -r -- '^-[^=]*=' '' "$word")
    set -l lines ($words[1] __complete $words[2..-1] "$word" 2>/dev/null)
    set -l candidates $lines[1..-2]
    switch "$lines[-1]"
        case :0
            set candidates (__fish_complete_path "$value")
        case :16
            set candidates (__fish_complete_directories "$value")
    end
    for candidate in $candidates
        printf '%s\n' "$option$candidate"
    end
end
complete -c lodestone -e
complete -c lodestone -f -a '(__lodestone_complete)'
`

const powershell = `# PowerShell completion for lodestone
Register-ArgumentCompleter -Native -CommandName lodestone -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements |
        Where-Object { $_.Extent.StartOffset -lt $cursorPosition } |
        ForEach-Object { $_.ToString() })
    $program = $words[0]
    $rest = @($words | Select-Object -Skip 1)
    if ($wordToComplete -eq '') { $rest += '""' }
    $option = if ($wordToComplete -match '^-[^=]*=') { $Matches[0] } else { '' }
    $lines = @(& $program __complete @rest 2>$null)
    $directive = "$($lines[-1])".TrimStart(':')
    $candidates = @($lines | Select-Object -SkipLast 1)
    # Without a result, PowerShell would offer files. An empty text prevents this.
    if ($candidates.Count -eq 0 -and ([int]$directive -band 4)) { return '' }
    $candidates | ForEach-Object {
        $value, $description = $_ -split "\`t", 2
        if (-not $description) { $description = $value }
        $text = "$option$value"
        [System.Management.Automation.CompletionResult]::new($text, $value, 'ParameterValue', $description)
    }
}
`

export const SCRIPTS: Readonly<Record<Shell, string>> = { bash, zsh, fish, powershell }
