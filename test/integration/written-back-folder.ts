/** A folder of a pod and the prefix of an S3 server to which it is written back, for tests. Both are new for each test. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { beforeEach } from 'vitest'
import { type MoverAnswer, makeRoot, runMover } from './mover-run.ts'
import { type S3Server, startS3Server } from './s3-server.ts'

/** In bytes: the least size of a part. */
export const PART = 5 * 1024 * 1024

const PREFIX = 'data/'

export interface WrittenBackFolder {
  s3: S3Server
  /** The root of the mover; the folder is `data` in it. */
  root: string
  /** The options of every download and upload. */
  words(): string[]
  download(...more: string[]): Promise<MoverAnswer>
  upload(...more: string[]): Promise<MoverAnswer>
  /** The objects below the prefix, with their contents as Latin-1. */
  stored(): Record<string, string>
  /** Writes a file, as a pod does. */
  pod(path: string, content?: string | Buffer): Promise<void>
}

export function useWrittenBackFolder(): WrittenBackFolder {
  const url = `s3://lake/${PREFIX}`
  const folder: WrittenBackFolder = {
    s3: undefined as never,
    root: '',
    words: () => ['--endpoint', folder.s3.url, '--retries', '2', '--part-size', `${PART}`],
    download: (...more) => runMover(folder.root, ['download', ...folder.words(), '--source', url, ...more]),
    upload: (...more) =>
      runMover(folder.root, [
        'upload',
        ...folder.words(),
        '--source',
        join(folder.root, 'data'),
        '--target',
        url,
        ...more,
      ]),
    stored: () =>
      Object.fromEntries(
        [...folder.s3.objects].map(([key, { body }]) => [key.slice(PREFIX.length), body.toString('latin1')]),
      ),
    async pod(path, content = 'x') {
      const file = join(folder.root, 'data', path)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, content)
    },
  }
  beforeEach(async () => {
    folder.s3 = await startS3Server()
    folder.root = makeRoot()
  })
  return folder
}
