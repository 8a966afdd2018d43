/** File systems as a mover may find them on a node: mounted inside the data, or read-only. */
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Pod } from '../../src/api/pod.ts'
import { moverState } from '../../src/core/volume-manager/mover/observed-state.ts'
import { ended } from '../volume-world.ts'
import { hasNamespaces, MOVER, resultIn, runInNamespace } from './mount-namespace.ts'
import { makeRoot } from './mover-run.ts'

/** A privileged pod has mounted a file system in its data, and has left it behind. Later, the node unmounts it. */
const SCRIPT = `
set -e
mkdir -p $MOUNT disk/.data.mover/old/1
echo 1 > disk/data/own
mount -t tmpfs none $MOUNT
echo 2 > $MOUNT/foreign
words="--root $PWD/disk --target $PWD/disk/data"
"$@" $VERB $words --termination-log first || true
cat $MOUNT/foreign > kept
umount $MOUNT
"$@" $VERB $words --termination-log second || true
ls -A disk > left
`

describe.skipIf(!hasNamespaces)('a file system that is mounted in the data', () => {
  test.each(['disk/data', 'disk/data/a b/deep', 'disk/.data.mover/old'])('at %s keeps its files', async (mount) => {
    const folder = makeRoot()
    await mkdir(join(folder, 'disk', 'data', 'a b'), { recursive: true })

    await runInNamespace(folder, SCRIPT.replaceAll('$MOUNT', `'${mount}'`).replaceAll('$VERB', 'delete'), MOVER)

    expect(await resultIn(folder, 'first')).toMatchObject({
      outcome: 'failed',
      code: 'Rejected',
      message: expect.stringContaining(`${join(folder, mount)}; unmount it on the node`),
    })
    expect(await readFile(join(folder, 'kept'), 'utf8')).toBe('2\n')
    expect(await resultIn(folder, 'second')).toMatchObject({ outcome: 'completed' })
    expect(await readFile(join(folder, 'left'), 'utf8')).toBe('')
  })
})

/** The kernel mounts a file system read-only when its disk has errors. */
const READ_ONLY_SCRIPT = `
set -e
mount -t tmpfs -o ro none disk
"$@" --termination-log result || true
`

test.skipIf(!hasNamespaces)('a disk that the kernel mounted read-only is no fault of the source', async () => {
  const folder = makeRoot()
  await mkdir(join(folder, 'disk'))
  const words = [
    '--root',
    join(folder, 'disk'),
    '--target',
    join(folder, 'disk', 'data'),
    '--source',
    's3://lake/data/',
  ]

  await runInNamespace(folder, READ_ONLY_SCRIPT, [...MOVER, 'download', ...words])

  const result = await resultIn(folder, 'result')
  expect(result).toMatchObject({
    outcome: 'failed',
    code: 'Unexpected',
    retry: true,
    message: expect.stringContaining('the file system is mounted read-only (EROFS)'),
  })
  const status = ended('Failed', { message: JSON.stringify(result), exitCode: 1 })
  const mover: Pod = { apiVersion: 'v1', kind: 'Pod', metadata: {}, spec: { containers: [] }, status }
  // So the next attempt is on another node.
  expect(moverState(mover, 0)).toMatchObject({ kind: 'failed', nodeFault: 'maybe' })
})
