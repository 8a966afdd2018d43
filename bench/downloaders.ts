/** The programs whose downloads are compared: the mover of this project, and two that people use. */
import { join } from 'node:path'
import { builtOnce } from '../test/e2e/peers/built-once.ts'
import type { S3 } from '../test/e2e/peers/s3.ts'
import { BUILT } from './built.ts'

export interface Downloader {
  name: string
  command: string
  /** Everything below a prefix, into an empty directory. */
  args(prefix: string, into: string): string[]
  env: Record<string, string>
}

const BUCKET = 'bench'

export async function downloaders(s3: S3): Promise<{ s5cmd: Downloader; all: Downloader[] }> {
  const keys = { AWS_ACCESS_KEY_ID: s3.accessKey, AWS_SECRET_ACCESS_KEY: s3.secretKey, AWS_REGION: s3.region }
  const s5cmd: Downloader = {
    name: 's5cmd 2.3.0',
    command: join(await build('s5cmd', 'github.com/peak/s5cmd/v2'), 's5cmd'),
    args: (prefix, into) => [
      '--endpoint-url',
      s3.url,
      '--log',
      'error',
      'cp',
      `s3://${BUCKET}/${prefix}/*`,
      `${into}/`,
    ],
    env: keys,
  }
  const rclone: Downloader = {
    name: 'rclone 1.75.1',
    command: join(await build('rclone', '.'), 'rclone'),
    // As many transfers as the others have; its default of 4 is slower.
    args: (prefix, into) => ['copy', '--transfers', '16', `:s3:${BUCKET}/${prefix}`, into],
    env: {
      ...keys,
      RCLONE_CONFIG: '/dev/null',
      RCLONE_S3_PROVIDER: 'Other',
      RCLONE_S3_ENDPOINT: s3.url,
      RCLONE_S3_REGION: s3.region,
      RCLONE_S3_ENV_AUTH: 'true',
    },
  }
  const mover = (name: string, ...options: string[]): Downloader => ({
    name,
    command: process.execPath,
    args: (prefix, into) => [
      ...[
        BUILT,
        'mover',
        'download',
        '--endpoint',
        s3.url,
        '--local-network',
        '127.0.0.0/8',
        '--source',
        `s3://${BUCKET}/${prefix}/`,
      ],
      ...['--root', into, '--target', join(into, 'data'), ...options],
    ],
    // As in the Dockerfile.
    env: { ...keys, NODE_OPTIONS: '--max-semi-space-size=16' },
  })
  // The others take what comes for what was sent: the second row does the same.
  return {
    s5cmd,
    all: [mover('lodestone mover'), mover('lodestone mover --verify size', '--verify', 'size'), s5cmd, rclone],
  }
}

async function build(peer: string, path: string): Promise<string> {
  return builtOnce({
    peer,
    what: peer,
    runtime: 'go',
    args: (into) => ['build', '-trimpath', '-ldflags', '-s -w', '-o', join(into, peer), path],
  })
}
