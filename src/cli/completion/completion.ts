/** `lodestone completion`: prints the completion script of a shell. */
import { suggest } from '../../base/suggest.ts'
import { type Arguments, type Command, type CommandIo, UsageError } from '../command.ts'
import { completionScript, SHELLS } from './scripts.ts'

export const completion: Command = {
  usage: SHELLS.join('|'),
  options: {},
  positionals: true,
  arguments: SHELLS,
  examples: [
    { command: 'source <(lodestone completion bash)', does: 'In this bash; for all, add the line to ~/.bashrc' },
    { command: 'source <(lodestone completion zsh)', does: 'In this zsh; for all, add the line to ~/.zshrc' },
    { command: 'lodestone completion fish > ~/.config/fish/completions/lodestone.fish', does: 'In every fish' },
  ],
  run: runCompletion,
}

async function runCompletion({ positionals }: Arguments, io: CommandIo): Promise<number> {
  const [given, ...more] = positionals
  const expected = `expected one of ${SHELLS.join(', ')}`
  if (given === undefined || more.length > 0)
    throw new UsageError(`${expected}, not ${positionals.join(' ') || 'nothing'}`)
  const shell = SHELLS.find((known) => known === given)
  if (!shell) throw new UsageError(`unknown shell ${given}${suggest(given, SHELLS)}; ${expected}`)
  io.stdout.write(completionScript(shell))
  return 0
}
