/** Tests where the words of a credential plugin go. */
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { startPlugin } from './credential-plugin.ts'

test.each([
  { name: 'shows a user at a terminal what a plugin says', isTTY: true, shown: 'enter the code A1\n' },
  { name: 'keeps what a plugin says out of a log', isTTY: false, shown: '' },
])('$name, while it runs', async ({ isTTY, shown }) => {
  const printed: unknown[] = []
  const screen = { isTTY, write: (words: unknown) => printed.push(words) > 0 }
  const plugin = startPlugin('sh', ['-c', 'echo enter the code A1 >&2; exec sleep 60'], {}, screen as never)
  onTestFinished(() => void plugin.kill('SIGKILL'))

  // As client-node reads it, for the error of a plugin that fails.
  const [words] = (await once(plugin.stderr?.setEncoding('utf8') ?? plugin, 'data')) as [string]

  expect({ words, printed: printed.join('') }).toEqual({ words: 'enter the code A1\n', printed: shown })
})
