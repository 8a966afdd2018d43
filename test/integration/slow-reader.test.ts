/** Everything that a command prints arrives, also when its reader pauses: `lodestone manifests | kubectl apply -f -`. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeKubeconfig } from '../../src/cli/cli.fake.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { startInFullPipe } from './full-pipe.ts'
import { MISTAKEN_LINES, MORE_THAN_A_PIPE, printingLines, usePrintingCommands } from './printing-commands.ts'

const wordsOf = usePrintingCommands(MORE_THAN_A_PIPE)
const lines = [...(await printingLines()), ...MISTAKEN_LINES]

describe.concurrent('a reader that pauses gets every byte of', () => {
  test.each(lines)('%s', async (line) => {
    const { code, arrived, printed } = await startInFullPipe(wordsOf(line)).readLate()

    expect({ bytes: arrived, isOwnStatus: code !== null && code <= 2 }).toEqual({
      bytes: printed,
      isOwnStatus: true,
    })
    expect(printed).toBeGreaterThan(0)
  })
})

test('serve ends after its log and its hints are read', async () => {
  const cache = temporaryFolder()
  const words = ['serve', '--folder', 'examples/hub', '--port', '0', '--health-port', '0']
  const server = startInFullPipe(words, { XDG_CACHE_HOME: cache })
  await server.prints
  server.child.kill('SIGTERM')

  const { code, arrived, printed } = await server.readLate()

  expect({ code, bytes: arrived }).toEqual({ code: 0, bytes: printed })
})

describe('while the reader pauses, Ctrl-C ends', () => {
  test.each([
    { what: 'a command that has ended', words: ['version'] },
    { what: 'a command that still runs, the second time', words: ['check-install', '--wait', '5m', '--kubeconfig'] },
  ])('$what', async ({ words }) => {
    const server = words.at(-1) === '--kubeconfig' ? [makeKubeconfig('https://127.0.0.1:1')] : []
    const { child, prints } = startInFullPipe([...words, ...server])
    onTestFinished(() => void child.kill('SIGKILL'))
    await prints
    const interrupted = () => {
      child.kill('SIGINT')
      return child.exitCode
    }
    await expect.poll(interrupted).toBe(130)
  })
})
