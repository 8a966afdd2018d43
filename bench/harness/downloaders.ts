/** The programs whose downloads are compared: the mover, s5cmd and rclone. */
import { join } from 'node:path'
import { builtOnce } from '../../test/e2e/peers/built-once.ts'
import type { S3 } from '../../test/e2e/peers/s3.ts'
import { BUILT } from './process.ts'

export interface Downloader {
  name: string
  command: string
  env: Record<string, string>
  /** Downloads all objects below a prefix into an empty directory. */
  args(prefix: string, into: string): string[]
}

/** @param ca the file of the CA that signed the certificate of the server; undefined without TLS */
export async function downloaders(s3: S3, bucket: string, ca?: string): Promise<Downloader[]> {
  const keys = {
    // Of the programs in Go.
    ...(ca !== undefined && { SSL_CERT_FILE: ca }),
    AWS_ACCESS_KEY_ID: s3.accessKey,
    AWS_SECRET_ACCESS_KEY: s3.secretKey,
    AWS_REGION: s3.region,
  }
  const mover = (...options: string[]): Downloader => ({
    name: ['lodestone mover', ...options].join(' '),
    command: process.execPath,
    // As in the Dockerfile.
    env: { ...keys, NODE_OPTIONS: '--max-semi-space-size=16' },
    args: (prefix, into) => [
      ...[BUILT, 'mover', 'download', '--endpoint', s3.url, '--local-network', '127.0.0.0/8'],
      ...['--source', `s3://${bucket}/${prefix}/`, '--root', into, '--target', join(into, 'data'), ...options],
      ...(ca === undefined ? [] : ['--ca-file', ca]),
    ],
  })
  const s5cmd: Downloader = {
    name: 's5cmd 2.3.0',
    command: await build('s5cmd', 'github.com/peak/s5cmd/v2'),
    env: { ...keys, S3_ENDPOINT_URL: s3.url },
    args: (prefix, into) => ['--log', 'error', 'cp', `s3://${bucket}/${prefix}/*`, `${into}/`],
  }
  const rclone: Downloader = {
    name: 'rclone 1.75.1',
    command: await build('rclone', '.'),
    env: { ...keys, RCLONE_CONFIG: '/dev/null' },
    // As many transfers as the other programs. The default of 4 is slower.
    args: (prefix, into) => [
      ...['copy', '--transfers', '16'],
      ...[`:s3,provider=Other,env_auth=true,region=${s3.region},endpoint='${s3.url}':${bucket}/${prefix}`, into],
    ],
  }
  // s5cmd and rclone compare no checksum of a multipart object. The second row does the same.
  return [mover(), mover('--verify', 'size'), s5cmd, rclone]
}

async function build(peer: string, path: string): Promise<string> {
  const args = (into: string) => ['build', '-trimpath', '-ldflags', '-s -w', '-o', join(into, peer), path]
  return join(await builtOnce({ peer, what: peer, runtime: 'go', args }), peer)
}
