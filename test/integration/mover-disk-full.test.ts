/** A real file system that fills up while a mover writes to it: a tmpfs in a mount namespace, which needs no root rights. */
import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { hasNamespaces, MOVER, resultIn, runInNamespace } from './mount-namespace.ts'
import { makeRoot } from './mover-run.ts'
import { startS3Server } from './s3-server.ts'

const MIB = 1 << 20

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

// Without namespaces of users, nothing but a full disk of the machine would show the same.
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
      ...[...MOVER, 'download', '--root', join(folder, 'disk')],
      ...['--target', join(folder, 'disk', 'data'), '--source', 's3://lake/data/', '--endpoint', s3.url],
      ...['--keep-free', '0', '--local-network', '127.0.0.0/8', '--part-size', `${8 * MIB}`],
    ])

    expect(await resultIn(folder, 'first')).toMatchObject({
      outcome: 'failed',
      code: 'NoSpace',
      retry: false,
      message: expect.stringContaining('the disk is full'),
    })
    expect((await readFile(join(folder, 'left'), 'utf8')).split('\n')).not.toContain('data')
    expect(await resultIn(folder, 'second')).toMatchObject({ outcome: 'completed', files: 2 })
    expect(await readFile(join(folder, 'content'))).toEqual(Buffer.concat([small, large]))
  },
)

test.skipIf(!hasNamespaces)('data on a full disk is written back, and deleted', async () => {
  const s3 = await startS3Server()
  const folder = makeRoot()
  await mkdir(join(folder, 'disk'))

  await runInNamespace(folder, FULL_SCRIPT, MOVER, { ENDPOINT: s3.url })

  expect(await resultIn(folder, 'uploaded')).toMatchObject({ outcome: 'completed', files: 1 })
  expect(s3.objects.get('out/result')?.body.length).toBeGreaterThan(15 * MIB)
  expect(await resultIn(folder, 'deleted')).toMatchObject({ outcome: 'completed' })
  expect(await readFile(join(folder, 'left'), 'utf8')).toBe('')
})

/** A pod has used all inodes of the disk, after a download. */
const INODES_SCRIPT = `
set -e
mount -t tmpfs -o nr_inodes=40 none disk
words="--root $PWD/disk --endpoint $ENDPOINT --keep-free 0 --local-network 127.0.0.0/8"
"$@" download $words --source s3://lake/data/ --target $PWD/disk/data --termination-log downloaded || true
i=0; while echo $i > disk/data/result-$i; do i=$((i + 1)); done 2>/dev/null
for attempt in 1 2; do
  "$@" upload $words --source $PWD/disk/data --target s3://lake/data/ --termination-log uploaded-$attempt || true
done
`

test.skipIf(!hasNamespaces)('data on a disk without a free inode is written back', async () => {
  const s3 = await startS3Server()
  const folder = makeRoot()
  await mkdir(join(folder, 'disk'))
  s3.put('data/a', 'x')

  await runInNamespace(folder, INODES_SCRIPT, MOVER, { ENDPOINT: s3.url })

  expect(await resultIn(folder, 'downloaded')).toMatchObject({ outcome: 'completed', files: 1 })
  for (const name of ['uploaded-1', 'uploaded-2']) {
    expect(await resultIn(folder, name)).toMatchObject({ outcome: 'completed' })
  }
  expect(s3.objects.get('data/result-0')?.body.toString()).toBe('0\n')
})

function exists(path: string, then: () => void): void {
  readFile(path).then(then, () => setTimeout(() => exists(path, then), 20))
}
