// Real shells: those on the PATH, or else the packages of Debian, unpacked once into the cache folder. No root rights are needed.
import { globSync } from 'node:fs'
import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { debianPrograms } from './debian-programs.ts'
import { environment, MissingRuntimeError, requireRuntime } from './peers/runtimes.ts'
import { runCommand } from './processes.ts'

export type ShellName = 'bash' | 'zsh' | 'fish'

export interface Shell {
  // A command line for sh, which starts the shell without the files of the user.
  command: string
  env: Record<string, string>
  // Lines of the shell, after which Tab completes and prints the choices, and Ctrl-X prints the edited line as `LINE<…>`.
  setup: string
}

const options: Readonly<Record<ShellName, string>> = {
  bash: '--norc --noprofile -i',
  zsh: '-f -i',
  fish: '--no-config -i',
}

const setups: Readonly<Record<ShellName, string>> = {
  bash: String.raw`
PS1=
show() { printf 'LINE<%s>\n' "$READLINE_LINE"; }
bind -x '"\C-x": show'
bind 'set show-all-if-ambiguous on'
bind 'set enable-bracketed-paste off'`,
  zsh: `
PS1=
autoload -U compinit
compinit -u -D
show() { print -r -- "LINE<$BUFFER>" }
zle -N show
bindkey '^X' show`,
  // fish draws the choices when it waits for the next key.
  fish: String.raw`
function fish_prompt; end
bind \cx 'complete -C (commandline); echo "LINE<"(commandline)">"'`,
}

// With the libraries that a minimal Debian or Ubuntu lacks.
const packages = ['zsh', 'zsh-common', 'fish', 'fish-common', 'libpcre2-32-0']

// Throws `MissingRuntimeError` if the shell is neither on the PATH nor available as a package.
export async function findShell(name: ShellName): Promise<Shell> {
  await requireRuntime(`terminal for ${name}`, 'script')
  const setup = setups[name]
  if (await isOnPath(name)) return { command: `${name} ${options[name]}`, env: {}, setup }
  const root = await unpackedPackages(name)
  const [libraries = ''] = globSync(join(root, 'usr/lib/*/libpcre2-32.so.0')).map((file) => join(file, '..'))
  const env = { LD_LIBRARY_PATH: libraries }
  if (name === 'fish') return { command: `${join(root, 'usr/bin/fish')} ${options.fish}`, env, setup }
  // zsh has the absolute paths of its parts in the program.
  const [modules] = globSync(join(libraries, 'zsh/*'))
  const functions = globSync(join(root, 'usr/share/zsh/functions/**/'))
  const paths = `module_path=(${modules})\nfpath=(${functions.join(' ')})`
  return { command: `${join(root, 'bin/zsh')} ${options.zsh}`, env, setup: `${paths}\n${setup}` }
}

async function isOnPath(name: ShellName): Promise<boolean> {
  const said = await runCommand(name, ['--version'], { cwd: '/', env: environment() }).catch(() => undefined)
  return said?.code === 0
}

async function unpackedPackages(name: ShellName): Promise<string> {
  await requireRuntime(name, 'apt-get')
  try {
    // fish finds its functions beside the program only if it finds /etc there too.
    const complete = (folder: string) => symlink('../etc', join(folder, 'usr', 'etc'))
    return (await debianPrograms('shells', packages, complete)).folder
  } catch (error) {
    throw new MissingRuntimeError(name, 'apt-get', `cannot download it: ${(error as Error).message}`)
  }
}
