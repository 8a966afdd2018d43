/** Two movers in one directory: the Pod of the first was deleted by force, and its process goes on. */
import { readdir, rm, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { makeRoot, readTree, runMover } from './mover-run.ts'
import { type S3Server, type SeenRequest, startS3Server } from './s3-server.ts'

let s3: S3Server
let root: string

beforeEach(async () => {
  s3 = await startS3Server()
  root = makeRoot()
  for (const name of ['a', 'z']) s3.put(`raw/${name}`, name)
})

const words = (verb: string) => [verb, '--endpoint', s3.url, '--source', 's3://lake/raw/', '--parallel', '1']
const isZ = ({ method, key }: SeenRequest) => method === 'GET' && key === 'raw/z'

/** Starts a download that waits for its last object; `meanwhile` runs then. */
async function downloadWaiting(meanwhile: () => Promise<unknown>) {
  const reached = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  let first = true
  s3.misbehave((request) => {
    if (!isZ(request) || !first) return undefined
    first = false
    reached.resolve()
    return { hold: held.promise }
  })
  const waiting = runMover(root, words('download'))
  await reached.promise
  await meanwhile()
  held.resolve()
  return waiting
}

describe('a download that still runs', () => {
  test('stops when a later one takes over, which publishes all files', async () => {
    const later: number[] = []
    const first = await downloadWaiting(async () => later.push((await runMover(root, words('download'))).status))

    expect([first.status, ...later]).toEqual([1, 0])
    expect(first.said).toContain('has taken over the directory')
    expect(await readTree(join(root, 'data'))).toEqual({ a: 'a', z: 'z' })
  })

  test('stops when its data is deleted, and writes nothing after that', async () => {
    const first = await downloadWaiting(() => runMover(root, ['delete']))

    expect(first.status).toBe(1)
    expect((await readdir(root)).filter((name) => name !== 'termination')).toEqual([])
  })

  test.each([
    { name: 'empties', change: (path: string) => truncate(path) },
    { name: 'removes', change: (path: string) => rm(path) },
  ])('does not publish when another process $name a complete file; the next repairs it', async ({ change }) => {
    const first = await downloadWaiting(() => change(join(root, '.data.mover', 'files', 'a')))
    expect(first.result).toMatchObject({ outcome: 'failed', retry: true })
    expect(first.result.message).toContain('a is missing or has another size')
    await expect(stat(join(root, 'data'))).rejects.toMatchObject({ code: 'ENOENT' })

    expect((await runMover(root, words('download'))).result.outcome).toBe('completed')
    expect(await readTree(join(root, 'data'))).toEqual({ a: 'a', z: 'z' })
  })
})
