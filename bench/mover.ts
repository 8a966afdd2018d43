/**
 * `npm run bench:mover`: throughput, CPU time and memory of the mover for one large object and for many small objects. Compares it with
 * s5cmd and rclone in the same rounds. All programs download from the same S3 server on loopback, with `--tls 1` over TLS.
 */
import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, open, readdir, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { endProcess } from '../src/cli/end-process.ts'
import { makeLeaf } from '../src/tls/leaf.ts'
import { makeAuthority } from '../src/tls/renewal.ts'
import { startS3 } from '../test/e2e/peers/s3.ts'
import type { Figure } from './harness/bounds.ts'
import { type Downloader, downloaders } from './harness/downloaders.ts'
import { cpuSeconds, memoryMiB } from './harness/process.ts'
import { log, median, options, print, quotients, ratio, report, table } from './harness/report.ts'
import { interleave } from './harness/rounds.ts'

const { gib, files, kib, rounds, tls } = options({ gib: 4, files: 20_000, kib: 64, rounds: 8, tls: 0 })
const BUCKET = 'bench'
const MIB = 1024 * 1024
const LOOK_EVERY_MS = 50
const DATASETS = [
  { dataset: `1 × ${gib} GiB`, prefix: 'large', mib: gib * 1024, write: writeLarge },
  { dataset: `${files} × ${kib} KiB`, prefix: 'small', mib: (files * kib) / 1024, write: writeSmall },
]
const run = promisify(execFile)

const dir = await mkdtemp(join(tmpdir(), 'lodestone-bench-mover-'))
const caFile = tls ? join(dir, 'ca.crt') : undefined
const s3 = await startS3(dir, caFile === undefined ? {} : { tls: await makeCertificate(caFile) })
try {
  await s3.createBucket(BUCKET)
  const programs = await downloaders(s3, BUCKET, caFile)
  const rows = []
  const figures: Figure[] = []
  for (const { dataset, prefix, mib, write } of DATASETS) {
    await upload(prefix, write, programs.find(({ name }) => name.startsWith('s5cmd')) as Downloader)
    const results = await interleave(programs, rounds, (program) => download(program, prefix))
    const figure = (program: number, i: number) => results[program]?.map((round) => round[i] ?? Number.NaN) ?? []
    for (const [i, { name }] of programs.entries()) {
      const [seconds = 0, cpu = 0, peak = 0] = [0, 1, 2].map((column) => median(figure(i, column)))
      const ratios = [2, 3].map((other) => (i < 2 ? ratio(figure(other, 0), figure(i, 0)) : ''))
      const throughput = (mib / seconds).toFixed(0)
      rows.push([dataset, name, seconds.toFixed(1), throughput, cpu.toFixed(1), peak.toFixed(0), ...ratios])
    }
    const throughput = median(quotients(figure(2, 0), figure(0, 0)))
    figures.push(
      { name: `${dataset}: throughput ÷ s5cmd`, value: throughput, better: 'higher' },
      { name: `${dataset}: peak MiB`, value: median(figure(0, 2)), better: 'lower' },
    )
  }
  report(figures)
  const head = ['dataset', 'program', 'on the disk after s', 'MiB/s', 'CPU s', 'peak MiB']
  print(
    `${rounds} rounds, medians; server and programs share the machine; goal: throughput ≥ 1.0 × the better other program`,
    table([...head, 'throughput ÷ s5cmd', 'throughput ÷ rclone'], rows),
  )
} finally {
  await s3.stop()
  await rm(dir, { recursive: true, force: true })
}
// The channel to bench:guard would keep the process.
await endProcess()

async function makeCertificate(file: string) {
  const now = Date.now()
  const ca = await makeAuthority(now)
  await writeFile(file, ca.certPem)
  return { ...(await makeLeaf({ ca, hosts: ['127.0.0.1'], now })), caPem: ca.certPem }
}

async function upload(prefix: string, write: (into: string) => Promise<void>, by: Downloader): Promise<void> {
  const from = join(dir, `seed-${prefix}`)
  await mkdir(from)
  await write(from)
  log(`uploading ${prefix}`)
  await run(by.command, ['--log', 'error', 'cp', `${from}/*`, `s3://${BUCKET}/${prefix}/`], { env: by.env })
  await emptyFiles(from)
}

/**
 * Frees the space of the files and keeps their inodes until the end. An ext4 without a journal does not use the inode of a deleted file
 * for minutes. It looks at all of those inodes for every new file, so the second program would pay for the files of the first.
 */
async function emptyFiles(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) await truncate(join(entry.parentPath, entry.name))
  }
}

async function writeLarge(into: string): Promise<void> {
  await using file = await open(join(into, 'large.bin'), 'w')
  // Random enough for every checksum, and faster than random bytes everywhere.
  const block = randomBytes(MIB)
  for (let i = 0; i < gib * 1024; i++) {
    block.writeUInt32LE(i)
    await file.write(block)
  }
}

async function writeSmall(into: string): Promise<void> {
  const content = randomBytes(kib * 1024)
  for (let i = 0; i < files; i++) {
    const folder = join(into, `${i % 100}`)
    if (i < 100) await mkdir(folder)
    content.writeUInt32LE(i)
    await writeFile(join(folder, `${i}.bin`), content)
  }
}

/** Returns the seconds until everything is on the disk, CPU seconds, and the peak of the memory in MiB. */
async function download({ name, command, args, env }: Downloader, prefix: string): Promise<number[]> {
  const into = await mkdtemp(join(dir, 'into-'))
  await run('sync', [])
  const begun = performance.now()
  const child = spawn(command, args(prefix, into), { env: { PATH: process.env['PATH'], ...env }, stdio: 'ignore' })
  let [cpu, peak] = [0, 0]
  const timer = setInterval(() => {
    try {
      cpu = cpuSeconds(child.pid ?? 0)
      peak = memoryMiB(child.pid ?? 0).peak || peak
    } catch {
      // The process has just ended: the last values count.
    }
  }, LOOK_EVERY_MS)
  const [status] = await once(child, 'exit')
  clearInterval(timer)
  await run('sync', ['-f', into])
  const seconds = (performance.now() - begun) / 1000
  await emptyFiles(into)
  if (status !== 0) throw new Error(`${name} ended with ${status}`)
  log(`${name}, ${prefix}: ${seconds.toFixed(1)} s, ${peak.toFixed(0)} MiB`)
  return [seconds, cpu, peak]
}
