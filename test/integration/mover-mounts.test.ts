/** File systems of a node that are not those of the data: a deletion must leave their files alone. */
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
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
      ...{ outcome: 'failed', code: 'Rejected' },
      message: expect.stringContaining(`${join(folder, mount)}; unmount it on the node`),
    })
    expect(await readFile(join(folder, 'kept'), 'utf8')).toBe('2\n')
    expect(await resultIn(folder, 'second')).toMatchObject({ outcome: 'completed' })
    expect(await readFile(join(folder, 'left'), 'utf8')).toBe('')
  })
})
