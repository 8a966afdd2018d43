/** What keeps a mover inside its directory and its data whole when the pods beside it, or the power, play against it. */
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, readFileSync } from 'node:fs'
import { mkdir, realpath, rename, symlink, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { openBelow } from '../../src/mover/upload/open-below.ts'
import { KEYS, makeRoot, readTree, runMover } from './mover-run.ts'
import { type S3Server, startS3Server } from './s3-server.ts'

let s3: S3Server
let root: string

beforeEach(async () => {
  s3 = await startS3Server()
  root = await realpath(makeRoot())
})

describe('a file for an upload', () => {
  let folder: string
  let outside: string

  beforeEach(async () => {
    folder = join(root, 'data')
    outside = join(root, 'outside')
    for (const path of [folder, outside]) await mkdir(path)
    await writeFile(join(outside, 'secret'), 'secret')
    await writeFile(join(folder, 'own'), 'own')
  })

  const contentOf = async (path: string) => {
    const file = await openBelow(folder, path)
    return file && (await file.readFile('utf8').finally(() => file.close()))
  }

  test('is opened below the folder', async () => {
    expect(await contentOf('own')).toBe('own')
  })

  test.each([
    { what: 'a link to a file outside', target: () => join(outside, 'secret'), path: 'link' },
    { what: 'a link to a file of the folder', target: () => join(folder, 'own'), path: 'link' },
    { what: 'a file behind a link that took the place of a folder', target: () => outside, path: 'link/secret' },
    { what: 'a file that is gone', target: () => outside, path: 'nothing' },
    { what: 'a file whose folder became a file', target: () => outside, path: 'own/nothing' },
    { what: 'a folder', target: () => outside, path: '.' },
  ])('is not $what', async ({ target, path }) => {
    await symlink(target(), join(folder, 'link'))

    expect(await contentOf(path)).toBeUndefined()
  })

  test('is no FIFO, which may never have a writer', async () => {
    execFileSync('sh', ['-c', 'mkfifo "$0"', join(folder, 'fifo')])

    expect(await contentOf('fifo')).toBeUndefined()
  })

  test('is not one of a sibling whose name begins like the folder', async () => {
    await rename(outside, join(root, 'data-2'))
    await symlink(join(root, 'data-2'), join(folder, 'link'))

    expect(await contentOf('link/secret')).toBeUndefined()
  })
})

test('a folder that becomes a link during an upload leads the mover to no other file', async () => {
  const outside = join(root, 'outside')
  for (const [path, content] of [
    ['data/first', 'first'],
    ['data/sub/file', 'own'],
    ['outside/file', 'secret'],
    ['outside/more', 'secret'],
  ] as const) {
    await mkdir(join(root, path, '..'), { recursive: true })
    await writeFile(join(root, path), content)
  }
  const held = Promise.withResolvers<void>()
  const arrived = Promise.withResolvers<void>()
  s3.misbehave(({ method, key }) => {
    if (method !== 'PUT' || key !== 'results/first') return undefined
    arrived.resolve()
    return { hold: held.promise }
  })

  const ended = runMover(root, [
    ...['upload', '--endpoint', s3.url, '--source', join(root, 'data'), '--target', 's3://lake/results/'],
    ...['--parallel', '1', '--retries', '0'],
  ])
  await arrived.promise
  await rename(join(root, 'data', 'sub'), join(root, 'moved'))
  await symlink(outside, join(root, 'data', 'sub'))
  held.resolve()
  await ended

  const stored = [...s3.objects].map(([key, { body }]) => `${key}=${body}`)
  expect(stored).toContain('results/first=first')
  expect(stored.filter((text) => text.includes('secret'))).toEqual([])
})

test('a download is flushed to the disk before its target appears, against power loss', async () => {
  s3.put('raw/a', 'content')
  // Replaces the program, because its folder is first on the PATH: it records which files exist, and then calls the program.
  const tools = join(root, 'tools')
  const record = join(root, 'record')
  const [data, staged] = [join(root, 'data'), join(root, '.data.mover', 'files', 'a')]
  await mkdir(tools)
  await writeFile(
    join(tools, 'sync'),
    `#!/bin/sh\n{ echo "$@"; [ -e ${data} ] && echo published; [ -s ${staged} ] && echo staged; } >> ${record}\nexec /bin/sync "$@"\n`,
  )
  chmodSync(join(tools, 'sync'), 0o755)
  vi.stubEnv('PATH', `${tools}${delimiter}${process.env['PATH']}`)

  const { status } = await runMover(root, ['download', '--endpoint', s3.url, '--source', 's3://lake/raw/'])
  vi.unstubAllEnvs()

  expect(status).toBe(0)
  expect(await readTree(data)).toEqual({ a: 'content' })
  expect(readFileSync(record, 'utf8')).toBe(`-f ${join(root, '.data.mover')}\nstaged\n`)
})

test.each(['prepare', 'download'])('%s ends below a folder in which nothing can be created', (verb) => {
  const log = join(root, 'termination')
  const words = ['mover', verb, '--root', '/proc', '--target', '/proc/x/y', '--termination-log', log]
  const from = verb === 'download' ? ['--source', 's3://lake/raw/', '--endpoint', s3.url] : []
  // A recursive mkdir of Node.js would not return, and then only SIGKILL ends the process.
  const limits = { timeout: 45_000, killSignal: 'SIGKILL', env: KEYS } as const
  const { status } = spawnSync(process.execPath, ['src/main.ts', ...words, ...from], limits)
  expect(status).toBe(1)
  expect(readFileSync(log, 'utf8')).toContain('cannot create the folder /proc/x; choose another one')
})
