/** A real file system that fills up while a mover writes to it: a tmpfs in a mount namespace, which needs no root rights. */
import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readTerminationMessage } from '../../src/core/mover-contract/termination-message.ts'
import { KEYS, makeRoot } from './mover-run.ts'
import { startS3Server } from './s3-server.ts'

const MIB = 1 << 20
const MAIN = join(import.meta.dirname, '..', '..', 'src', 'main.ts')
const NAMESPACE = ['--user', '--map-root-user', '--mount', '--pid', '--fork', '--kill-child']

/** Waits for another process to fill the disk, in the middle of the first download; then frees it, and downloads again. */
const SCRIPT = `
set -e
mount -t tmpfs -o size=16m none disk
"$@" --termination-log first & mover=$!
until [ -e asked ]; do sleep 0.05; done
dd if=/dev/zero of=disk/hog bs=1M count=16 2>/dev/null || true
touch full
wait $mover || true
ls -A disk > left
rm disk/hog
"$@" --termination-log second || true
cat disk/data/small disk/data/large > content
`

/** A pod has filled the disk with its results. Then they are uploaded, and the data is deleted. */
const FULL_SCRIPT = `
set -e
mount -t tmpfs -o size=16m none disk
mkdir disk/data disk/.data.mover
dd if=/dev/zero of=disk/data/result bs=1M count=16 2>/dev/null || true
words="--root $PWD/disk --local-network 127.0.0.0/8"
"$@" upload $words --source $PWD/disk/data --target s3://lake/out/ --endpoint $ENDPOINT --termination-log uploaded || true
"$@" delete $words --target $PWD/disk/data --termination-log deleted || true
ls -A disk > left
`

const hasNamespaces = spawnSync('unshare', [...NAMESPACE, 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0

// A skipped test is in the output of vitest. Without namespaces of users, nothing but a full disk of the machine would show the same.
test.skipIf(!hasNamespaces)(
  'a disk that fills up in a download is NoSpace, and the next mover completes it',
  async () => {
    const s3 = await startS3Server()
    const folder = makeRoot()
    await mkdir(join(folder, 'disk'))
    const [small, large] = [randomBytes(1000), randomBytes(6 * MIB)]
    s3.put('data/small', small)
    s3.put('data/large', large)
    const full = Promise.withResolvers<void>()
    let asked = 0
    s3.misbehave(({ method, key }) => {
      if (method !== 'GET' || key !== 'data/large' || asked++ > 0) return undefined
      void writeFile(join(folder, 'asked'), '').then(() => exists(join(folder, 'full'), full.resolve))
      return { hold: full.promise }
    })

    await runInNamespace(folder, SCRIPT, [
      ...[process.execPath, MAIN, 'mover', 'download', '--root', join(folder, 'disk')],
      ...['--target', join(folder, 'disk', 'data'), '--source', 's3://lake/data/', '--endpoint', s3.url],
      ...['--keep-free', '0', '--local-network', '127.0.0.0/8', '--part-size', `${8 * MIB}`],
    ])

    const resultOf = async (name: string) => readTerminationMessage(await readFile(join(folder, name), 'utf8'))
    expect(await resultOf('first')).toMatchObject({
      ...{ outcome: 'failed', code: 'NoSpace', retry: false },
      message: expect.stringContaining('the disk is full'),
    })
    expect((await readFile(join(folder, 'left'), 'utf8')).split('\n')).not.toContain('data')
    expect(await resultOf('second')).toMatchObject({ outcome: 'completed', files: 2 })
    expect(await readFile(join(folder, 'content'))).toEqual(Buffer.concat([small, large]))
  },
)

test.skipIf(!hasNamespaces)('data on a full disk is written back, and deleted', async () => {
  const s3 = await startS3Server()
  const folder = makeRoot()
  await mkdir(join(folder, 'disk'))

  await runInNamespace(folder, FULL_SCRIPT, [process.execPath, MAIN, 'mover'], { ENDPOINT: s3.url })

  const resultOf = async (name: string) => readTerminationMessage(await readFile(join(folder, name), 'utf8'))
  expect(await resultOf('uploaded')).toMatchObject({ outcome: 'completed', files: 1 })
  expect(s3.objects.get('out/result')?.body.length).toBeGreaterThan(15 * MIB)
  expect(await resultOf('deleted')).toMatchObject({ outcome: 'completed' })
  expect(await readFile(join(folder, 'left'), 'utf8')).toBe('')
})

function exists(path: string, then: () => void): void {
  readFile(path).then(then, () => setTimeout(() => exists(path, then), 20))
}

async function runInNamespace(folder: string, script: string, command: string[], env = {}): Promise<void> {
  const child = spawn('unshare', [...NAMESPACE, 'sh', '-c', script, 'sh', ...command], {
    cwd: folder,
    env: { ...process.env, ...KEYS, ...env },
  })
  let said = ''
  child.stdout.on('data', (text) => (said += text))
  child.stderr.on('data', (text) => (said += text))
  const status = await new Promise<number | null>((resolve) => child.once('close', resolve))
  if (status !== 0) throw new Error(`status ${status}: ${said}`)
}
