/** Movers with the capabilities that their Pods give them, and no others: what pods wrote as other users is written back and deleted. */
import { spawn } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { volumeManagers } from '../../src/api/volume-manager.ts'
import { makeVolume, makeVolumeManager } from '../builders.ts'
import { VolumeWorld } from '../volume-world.ts'
import { KEYS, makeRoot, readResult } from './mover-run.ts'
import { startS3Server } from './s3-server.ts'

const MAIN = join(import.meta.dirname, '..', '..', 'src', 'main.ts')
const SOMEBODY = 4711

/** The capabilities of the movers of one volume, by verb, in the order in which a volume needs them. */
async function capabilitiesByVerb(): Promise<Map<string, string[]>> {
  const world = await new VolumeWorld().start('n1')
  const byVerb = new Map<string, string[]>()
  world.fate = ({ spec: { containers } }) => {
    const { args = [], securityContext } = containers[0] ?? {}
    const { capabilities } = securityContext as { capabilities: { drop: string[]; add?: string[] } }
    expect(capabilities.drop).toEqual(['ALL'])
    byVerb.set(args[1] ?? '', capabilities.add ?? [])
    return 'completes'
  }
  const options = { ...makeVolume().options, resync: 'true' }
  await world.store.create(volumeManagers, makeVolumeManager([{ options }]))
  await world.settle()
  await world.use('trainer', (await world.volume())?.volumeSource?.hostPath?.path ?? '', 'n1')
  await world.pass(60)
  await world.end('trainer')
  await world.deleteManager()
  for (let i = 0; i < 3; i++) await world.pass(60)
  return byVerb
}

test('a mover has what its work takes, and one that downloads has nothing', async () => {
  expect(Object.fromEntries(await capabilitiesByVerb())).toEqual({
    download: [],
    upload: ['DAC_READ_SEARCH'],
    delete: ['DAC_OVERRIDE', 'FOWNER'],
  })
})

const SETPRIV = '/usr/bin/setpriv'
const mayTakeAway = process.getuid?.() === 0 && existsSync(SETPRIV)
if (!mayTakeAway)
  process.stderr.write(`[test] skipped: the rights of movers, which only root with ${SETPRIV} can take away\n`)

/** Makes a root with data as a pod of another user leaves it: private, and some of it in a sticky directory. */
function rootOfSomebody(): string {
  const root = makeRoot()
  for (const [folder, mode] of [
    ['own', 0o700],
    ['shared', 0o1777],
  ] as const) {
    const path = join(root, 'data', folder)
    mkdirSync(path, { recursive: true })
    writeFileSync(join(path, 'result'), 'x', { mode: 0o600 })
    chmodSync(path, mode)
    for (const one of [join(path, 'result'), path]) chownSync(one, SOMEBODY, SOMEBODY)
  }
  return root
}

async function runWith(capabilities: readonly string[], root: string, words: string[]) {
  const bounding = ['-all', ...capabilities.map((name) => `+${name.toLowerCase()}`)].join(',')
  const local = ['--local-network', '127.0.0.0/8']
  const args = [`--bounding-set=${bounding}`, process.execPath, MAIN, 'mover', ...words, ...local, '--root', root]
  const child = spawn(SETPRIV, [...args, '--termination-log', join(root, 'termination')], {
    env: KEYS,
    stdio: 'ignore',
  })
  await new Promise((resolve) => child.once('exit', resolve))
  return readResult(root)
}

describe.runIf(mayTakeAway)('private data of another user', () => {
  test('is deleted', async () => {
    const root = rootOfSomebody()
    const capabilities = (await capabilitiesByVerb()).get('delete') ?? []
    const words = ['delete', '--target', join(root, 'data')]

    expect(await runWith([], root, words)).toMatchObject({ outcome: 'failed', code: 'Unexpected' })
    expect(await runWith(capabilities, root, words)).toMatchObject({ outcome: 'completed' })
    expect(existsSync(join(root, 'data'))).toBe(false)
  })

  test('counts as mounted without the right to read it, as NFS that squashes root', async () => {
    const root = rootOfSomebody()
    const target = join(root, 'data', 'own')
    const prepare = (...more: string[]) => runWith([], root, ['prepare', '--target', target, ...more])

    expect(await prepare()).toMatchObject({
      outcome: 'completed',
      message: 'is there, and only other users can read it',
    })
    // A directory of the node is checked with the right to read it.
    expect(await prepare('--must-exist', 'true')).toMatchObject({ outcome: 'failed', code: 'Unexpected' })
  })

  test('is written back', async () => {
    const root = rootOfSomebody()
    const s3 = await startS3Server()
    const capabilities = (await capabilitiesByVerb()).get('upload') ?? []
    const words = ['upload', '--endpoint', s3.url, '--source', join(root, 'data'), '--target', 's3://lake/']

    writeFileSync(join(root, 'data', 'public'), 'x')

    // The mover writes back each file that it can read.
    expect(await runWith([], root, words)).toMatchObject({
      outcome: 'failed',
      code: 'Unexpected',
      message: expect.stringMatching(
        /own cannot be read: .*shared\/result cannot be read: |shared\/result .*own cannot be read: /,
      ),
    })
    expect([...s3.objects.keys()]).toEqual(['public'])
    expect(await runWith(capabilities, root, words)).toMatchObject({ outcome: 'completed' })
    expect([...s3.objects.keys()].sort()).toEqual(['own/result', 'public', 'shared/result'])
  })
})
