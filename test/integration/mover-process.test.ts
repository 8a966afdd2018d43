/** Movers that are killed, canceled, or replaced by another program: as processes, as in a cluster. */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { testWith } from '../programs.ts'
import { makeRoot, readResult, readTree, runMover, startMover } from './mover-run.ts'
import { isObjectGet, type S3Server, startS3Server } from './s3-server.ts'

const PART = 1024 * 1024
const PARALLEL = 4

let s3: S3Server
let root: string
let words: string[]

beforeEach(async () => {
  s3 = await startS3Server()
  root = makeRoot()
  words = ['download', '--endpoint', s3.url, '--source', 's3://lake/raw/', '--part-size', `${PART}`]
  words.push('--parallel', `${PARALLEL}`)
})

/** The parts and objects that the journal of a mover has. It writes in the background, so a mover that is killed may lack the last ones. */
async function journalEntries(): Promise<number> {
  const names = await readdir(root, { recursive: true })
  const journal = names.find((name) => name.endsWith('journal'))
  const text = journal ? await readFile(join(root, journal), 'utf8') : ''
  return text.split('\n').filter((line) => /^[\w-]{16}(?: \d+)?$/.test(line)).length
}

/** Answers so many requests of objects and holds the others; resolves when all that may be under way are held. */
function holdAfter(count: number): { held: Promise<void>; release: () => void } {
  let [answered, waiting] = [0, 0]
  let release = () => {}
  const hold = new Promise<void>((resolve) => {
    release = resolve
  })
  const held = new Promise<void>((resolve) => {
    s3.misbehave((request) => {
      if (!isObjectGet(request) || ++answered <= count) return undefined
      if (++waiting === PARALLEL) resolve()
      return { hold }
    })
  })
  return { held, release }
}

describe('a mover that is killed with SIGKILL', () => {
  test('is followed by one that fetches only what is missing', async () => {
    const [large, small] = [randomBytes(15 * PART), randomBytes(PART / 2)]
    s3.put('raw/large', large)
    for (let i = 0; i < 8; i++) s3.put(`raw/small/${i}`, small)
    const total = 15 * PART + 8 * small.length
    const { held, release } = holdAfter(14)

    const first = startMover(root, words)
    await held
    await expect.poll(journalEntries).toBe(14)
    first.kill('SIGKILL')
    await first.ended
    const before = s3.bodyBytes()
    s3.misbehave(() => undefined)
    release()
    const { status, result } = await runMover(root, [...words, '--attempt', '2'])

    expect(before).toBe(14 * PART)
    expect(status).toBe(0)
    expect(result.movedBytes).toBe(total - before)
    const tree = await readTree(join(root, 'data'))
    expect(tree['large'] === large.toString('latin1')).toBe(true)
    expect(Object.keys(tree)).toHaveLength(9)
  })

  test('repeatedly does not prevent the download, and no recorded part is fetched again', async () => {
    const large = randomBytes(12 * PART)
    s3.put('raw/large', large)
    for (let attempt = 1; attempt <= 3; attempt++) {
      const { held, release } = holdAfter(2)
      const mover = startMover(root, words)
      await held
      await expect.poll(journalEntries).toBe(2 * attempt)
      mover.kill('SIGKILL')
      await mover.ended
      release()
    }
    s3.misbehave(() => undefined)
    const before = s3.gets().length

    expect((await runMover(root, words)).status).toBe(0)
    expect(s3.gets().length - before).toBe(12 - 3 * 2)
    expect((await readTree(join(root, 'data')))['large'] === large.toString('latin1')).toBe(true)
  })

  test.each([
    { name: 'and its parts are deleted', refuses: undefined, left: 0 },
    { name: 'although the keys may not delete its parts', refuses: { status: 403, code: 'AccessDenied' }, left: 1 },
  ])('while it uploads in parts is followed by one that uploads the file, $name', async ({ refuses, left }) => {
    const large = randomBytes(11 * PART)
    await mkdir(join(root, 'data'))
    await writeFile(join(root, 'data', 'large'), large)
    const to = ['--endpoint', s3.url, '--source', join(root, 'data'), '--target', 's3://lake/out/']
    const upload = ['upload', ...to, '--part-size', '5Mi']
    const reached = Promise.withResolvers<void>()
    s3.misbehave(({ query }) => {
      if (query.get('partNumber') !== '2') return undefined
      reached.resolve()
      return { hold: new Promise(() => undefined) }
    })
    const first = startMover(root, upload)
    await reached.promise
    const pending = join(root, '.data.mover', 'pending')
    await expect.poll(() => readFile(pending, 'utf8')).toContain('out/large')
    first.kill('SIGKILL')
    await first.ended
    expect(s3.uploads.size).toBe(1)
    s3.misbehave(({ method }) => (method === 'DELETE' ? refuses : undefined))

    const { result } = await runMover(root, upload)

    expect(result).toMatchObject({ outcome: 'completed', files: 1 })
    expect(s3.objects.get('out/large')?.body.equals(large)).toBe(true)
    expect(s3.uploads.size).toBe(left)
  })

  test('just before its result was read is followed by one that does nothing', async () => {
    s3.put('raw/a', 'x')
    await startMover(root, words).ended
    await rm(join(root, 'termination'))
    const asked = s3.requests.length

    expect((await runMover(root, words)).status).toBe(0)
    expect(s3.requests).toHaveLength(asked)
  })
})

describe('a mover that is canceled', () => {
  test.each([
    { name: 'by SIGTERM', how: async (mover: ReturnType<typeof startMover>) => void mover.kill('SIGTERM') },
    { name: 'by its cancel file', how: async () => writeFile(join(root, 'cancel'), 'true') },
  ])('$name ends while requests are open, says so, and leaves what it has to the next', async ({ how }) => {
    s3.put('raw/large', randomBytes(15 * PART))
    const { held, release } = holdAfter(8)
    const mover = startMover(root, [...words, '--cancel-file', join(root, 'cancel')])
    await held

    await how(mover)

    // No request is answered before the end.
    expect(await mover.ended).toBe(4)
    expect(readResult(root)).toMatchObject({ outcome: 'canceled', bytes: 8 * PART, movedBytes: 8 * PART })
    expect(await readdir(root)).not.toContain('data')
    s3.misbehave(() => undefined)
    release()
    await rm(join(root, 'cancel'), { force: true })
    expect((await runMover(root, words)).result).toMatchObject({ outcome: 'completed', movedBytes: 7 * PART })
  })

  test('before it began does nothing at all', async () => {
    await writeFile(join(root, 'cancel'), 'true\n')

    const { status, result } = await runMover(root, [...words, '--cancel-file', join(root, 'cancel')])

    expect({ status, outcome: result.outcome }).toEqual({ status: 4, outcome: 'canceled' })
    expect(s3.requests).toEqual([])
  })

  test.each([{ content: '' }, { content: 'false' }])('is not, while its file holds "$content"', async ({ content }) => {
    s3.put('raw/a', 'x')
    await writeFile(join(root, 'cancel'), content)

    expect((await runMover(root, [...words, '--cancel-file', join(root, 'cancel')])).status).toBe(0)
  })

  test('ends the wait for a server that returns errors', async () => {
    s3.put('raw/a', 'x')
    const ending = new AbortController()
    s3.misbehave((request) => {
      if (!isObjectGet(request)) return undefined
      setImmediate(() => ending.abort())
      return { status: 503, headers: { 'retry-after': '60' } }
    })

    expect((await runMover(root, words, { signal: ending.signal })).status).toBe(4)
  })
})

describe('a download in place', () => {
  test('publishes each complete file, keeps files of a consumer, continues after SIGKILL', async () => {
    const large = randomBytes(6 * PART)
    for (let i = 0; i < 4; i++) s3.put(`raw/0-small-${i}`, `content ${i}`)
    s3.put('raw/1-large', large)
    const inPlace = [...words, '--in-place', 'true']
    const { held, release } = holdAfter(6)

    const mover = startMover(root, inPlace)
    await held
    await expect.poll(journalEntries).toBe(6)
    expect(Object.keys(await readTree(join(root, 'data'))).sort()).toEqual([0, 1, 2, 3].map((i) => `0-small-${i}`))
    await writeFile(join(root, 'data', 'checkpoint'), 'of a consumer')
    mover.kill('SIGKILL')
    await mover.ended
    s3.misbehave(() => undefined)
    release()
    const { status, result } = await runMover(root, inPlace)

    expect(status).toBe(0)
    expect(result.movedBytes).toBe(4 * PART)
    const tree = await readTree(join(root, 'data'))
    expect(tree['checkpoint']).toBe('of a consumer')
    expect(tree['1-large'] === large.toString('latin1')).toBe(true)
    const asked = s3.requests.length
    expect((await runMover(root, inPlace)).result.message).toBe('the data is complete already')
    expect(s3.requests).toHaveLength(asked)
  })

  test('goes into an empty directory, and not between foreign files', async () => {
    s3.put('raw/a', 'x')
    const inPlace = [...words, '--in-place', 'true']
    await mkdir(join(root, 'data'))
    expect((await runMover(root, inPlace)).status).toBe(0)

    root = makeRoot()
    await mkdir(join(root, 'data'))
    await writeFile(join(root, 'data', 'precious'), 'x')
    expect((await runMover(root, inPlace)).result.code).toBe('TargetExists')
    expect(await readTree(join(root, 'data'))).toEqual({ precious: 'x' })
  })

  test('does not mix the data of two sources', async () => {
    s3.put('raw/a', 'x')
    await runMover(root, [...words, '--in-place', 'true'])

    const other = [...words, '--in-place', 'true', '--match', '*']
    expect((await runMover(root, other)).result.code).toBe('TargetExists')
  })
})

describe('the mover of docs/guides/movers.md that is a script', () => {
  testWith('curl')('keeps the contract: downloads, is there already, deletes, fails with a code', async () => {
    const docs = await readFile(join(import.meta.dirname, '..', '..', 'docs', 'guides', 'movers.md'), 'utf8')
    const script = join(root, 'mover.sh')
    await writeFile(script, /```sh\n(#![\s\S]*?)```/.exec(docs)?.[1] ?? '')
    await chmod(script, 0o755)
    const run = promisify(execFile)
    const packed = join(root, 'packed')
    await mkdir(packed)
    await writeFile(join(packed, 'a'), 'content')
    await run('tar', ['-czf', join(root, 'data.tar.gz'), '-C', packed, '.'])
    const archive = await readFile(join(root, 'data.tar.gz'))
    const server = createServer((request, response) => {
      response.statusCode = request.url === '/data.tar.gz' ? 200 : 404
      response.end(archive)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const mover = async (verb: string, source: string) => {
      const args = [verb, '--source', source, '--root', root, '--target', join(root, 'data'), '--attempt', '2']
      const env = { ...process.env, MOVER_TERMINATION_LOG: join(root, 'termination') }
      const status = await run(script, args, { env }).then(
        () => 0,
        (error: { code: number }) => error.code,
      )
      return { status, ...readResult(root) }
    }

    expect(await mover('download', `${url}/data.tar.gz`)).toMatchObject({
      status: 0,
      outcome: 'completed',
      files: 1,
      attempt: 2,
    })
    expect(await readTree(join(root, 'data'))).toEqual({ a: 'content' })
    expect(await mover('download', `${url}/missing`)).toMatchObject({
      status: 0,
      message: 'the data is complete already',
    })
    expect(await mover('delete', url)).toMatchObject({ status: 0, verb: 'delete', outcome: 'completed' })
    expect(await readdir(root)).not.toContain('data')
    expect(await mover('download', `${url}/missing`)).toMatchObject({
      status: 1,
      outcome: 'failed',
      code: 'Unreachable',
      retry: true,
    })
  })
})

test('the modes of files and directories do not depend on the umask', async () => {
  s3.put('raw/d/x', 'x')
  expect(await startMover(root, words, undefined, '077').ended).toBe(0)

  const modes = ['data', 'data/d', 'data/d/x'].map(async (path) =>
    ((await stat(join(root, path))).mode & 0o777).toString(8),
  )
  expect(await Promise.all(modes)).toEqual(['755', '755', '644'])
})
