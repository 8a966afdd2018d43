/** The completion scripts. They call `lodestone __complete` with the words up to the cursor, and read candidates and a directive. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: parameters of shells are written as in JavaScript
import { DIRECTIVES } from './complete.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

/** The lines of a script that differ between shells. */
interface Syntax {
  begin: string
  /** Calls Lodestone, and sets `lines` to the candidates and `directive` to the last line. */
  ask: readonly string[]
  /** The command for a directive. fish needs no command to leave out the space after a slash. */
  files: string
  directories: string
  noSpace?: string
  /** Offers `lines` to the shell. */
  offer: string
  end: readonly string[]
}

const SYNTAXES: Readonly<Record<Shell, Syntax>> = {
  // Bash splits words at the characters of COMP_WORDBREAKS, and replaces only the last part of the word. Its version 3.2 lacks compopt.
  bash: {
    begin: '_lodestone() {',
    ask: [
      'local line="${COMP_LINE:0:COMP_POINT}" word option="" prefix answer directive',
      'local -a words lines',
      'read -ra words <<< "$line"',
      '[[ $line == *[[:space:]] ]] && words+=("")',
      'word="${words[${#words[@]}-1]}"',
      '[[ $word == -*=* ]] && option="${word%%=*}="',
      'prefix="${word%"${word##*["$COMP_WORDBREAKS"]}"}"',
      'answer="$("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)"',
      `directive="\${answer##*$'\\n'}"`,
      `IFS=$'\\n' read -rd '' -a lines <<< "\${answer%"$directive"}"`,
      `lines=("\${lines[@]%%$'\\t'*}")`,
      'lines=("${lines[@]/#/$option}")',
    ],
    files: 'compopt -o default 2>/dev/null',
    directories: 'compopt -o dirnames 2>/dev/null',
    noSpace: 'compopt -o nospace 2>/dev/null',
    offer: 'COMPREPLY=("${lines[@]#"$prefix"}")',
    end: ['}', 'complete -F _lodestone lodestone'],
  },
  // zsh runs a file of its search path as the function, which then defines and calls itself.
  zsh: {
    begin: '_lodestone() {',
    ask: [
      'local answer directive',
      'local -a lines flags',
      'answer="$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)"',
      `directive="\${answer##*$'\\n'}"`,
      'lines=(${(f)${answer%$directive}})',
      'lines=("${(@)lines//:/\\\\:}")',
      `lines=("\${(@)lines/$'\\t'/:}")`,
      "compset -P '-*='",
    ],
    files: '_files',
    directories: '_files -/',
    noSpace: "flags=(-S '')",
    offer: '(( ! $#lines )) || _describe completion lines "${flags[@]}"',
    end: [
      '}',
      'if [[ ${funcstack[1]} == _lodestone ]]; then',
      '  _lodestone "$@"',
      'else',
      '  compdef _lodestone lodestone',
      'fi',
    ],
  },
  fish: {
    begin: 'function __lodestone_complete',
    ask: [
      'set -l words (commandline -opc)',
      'set -l word (commandline -ct)',
      'set -l option (string match -r -- \'^-[^=]*=\' "$word")',
      'set -l value (string replace -- "$option" \'\' "$word")',
      'set -l lines ($words[1] __complete $words[2..-1] "$word" 2>/dev/null)',
      'set -l directive $lines[-1]',
      'set lines $lines[1..-2]',
    ],
    files: 'set lines (__fish_complete_path "$value")',
    directories: 'set lines (__fish_complete_directories "$value")',
    offer: 'string join -- \\n "$option"$lines',
    end: ['end', 'complete -c lodestone -e', "complete -c lodestone -f -a '(__lodestone_complete)'"],
  },
}

/** Returns the script of a shell. zsh reads the first line, which is a comment in the other shells. */
export function completionScript(shell: Shell): string {
  const { begin, ask, files, directories, noSpace, offer, end } = SYNTAXES[shell]
  const commands: [directive: number, command: string | undefined][] = [
    [DIRECTIVES.files, files],
    [DIRECTIVES.directories, directories],
    [DIRECTIVES.noFiles | DIRECTIVES.noSpace, noSpace],
  ]
  const body = [
    ...ask,
    ...commands.flatMap(([directive, command]) => (command ? `test "$directive" = :${directive} && ${command}` : [])),
    offer,
  ]
  const lines = [begin, ...body.map((line) => `  ${line}`), ...end]
  return `#compdef lodestone\n# ${shell} completion for lodestone\n${lines.join('\n')}\n`
}
