/**
 * `npm run bench:mover`: measures the speed and the memory of the mover when it downloads one large object and many small ones. Compares it
 * with programs that people use, from the same S3 server on loopback. Prints Markdown.
 */
import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, open, readdir, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { startS3 } from '../test/e2e/peers/s3.ts'
import { type Downloader, downloaders } from './downloaders.ts'
import { log } from './log.ts'
import { machine } from './machine.ts'
import { type DatasetRuns, type DownloadRun, report } from './mover-report.ts'
import { cpuSeconds, memoryMiB } from './process-stats.ts'

const { values } = parseArgs({
  options: {
    gib: { type: 'string', default: '4' },
    files: { type: 'string', default: '20000' },
    'file-kib': { type: 'string', default: '64' },
    /** A multiple of the number of programs: each has been the first as often. */
    rounds: { type: 'string', default: '8' },
    /** Part of a name: only these programs. */
    only: { type: 'string', default: '' },
  },
})
const MIB = 1024 * 1024
const LOOK_EVERY_MS = 50
const run = promisify(execFile)

const dir = await mkdtemp(join(tmpdir(), 'lodestone-bench-mover-'))
const s3 = await startS3(dir)
try {
  const { s5cmd, all } = await downloaders(s3)
  await s3.createBucket('bench')
  const [gib, files, fileBytes] = [Number(values.gib), Number(values.files), Number(values['file-kib']) * 1024]
  const datasets: DatasetRuns[] = [
    { dataset: `1 × ${gib} GiB`, bytes: gib * 1024 * MIB, files: 1, runs: [] },
    { dataset: `${files} × ${values['file-kib']} KiB`, bytes: files * fileBytes, files, runs: [] },
  ]
  await seed(s5cmd, 'large', (into) => writeLarge(into, gib * 1024))
  await seed(s5cmd, 'small', (into) => writeSmall(into, files, fileBytes))
  const programs = all.filter(({ name }) => name.includes(values.only))
  // Side by side in time, so that other work of the machine slows them all. The first one finds the objects out of the page cache.
  const rotated = (by: number) => programs.map((_, i) => programs[(i + by) % programs.length] as Downloader)
  for (let round = 1; round <= Number(values.rounds); round++) {
    for (const [i, prefix] of ['large', 'small'].entries()) {
      for (const program of rotated(round)) datasets[i]?.runs.push(await measure(program, prefix))
    }
  }
  const setting = `${machine()}; ${values.rounds} rounds, the median one counts; server and program share the machine.`
  const names = programs.map(({ name }) => name)
  process.stdout.write(report(setting, datasets, names))
} finally {
  await s3.stop()
  await rm(dir, { recursive: true, force: true })
}

async function seed(by: Downloader, prefix: string, write: (into: string) => Promise<void>): Promise<void> {
  const from = join(dir, `seed-${prefix}`)
  await mkdir(from)
  await write(from)
  log(`uploading ${prefix}`)
  const env = { ...by.env, PATH: process.env['PATH'] }
  await run(by.command, ['--endpoint-url', s3.url, '--log', 'error', 'cp', `${from}/*`, `s3://bench/${prefix}/`], {
    env,
  })
  await emptyFiles(from)
}

/**
 * Gives the space back and keeps the files until the end. An ext4 without a journal does not take an inode again for minutes after its file
 * was deleted. It looks at all of those inodes for every new file, so the second program would pay for the files of the first.
 */
async function emptyFiles(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) await truncate(join(entry.parentPath, entry.name))
  }
}

async function writeLarge(into: string, mebibytes: number): Promise<void> {
  const file = await open(join(into, 'large.bin'), 'w')
  // Random enough for every checksum, and quicker than to make it all.
  const block = randomBytes(MIB)
  for (let i = 0; i < mebibytes; i++) {
    block.writeUInt32LE(i)
    await file.write(block)
  }
  await file.close()
}

async function writeSmall(into: string, files: number, bytes: number): Promise<void> {
  const content = randomBytes(bytes)
  for (let i = 0; i < files; i++) {
    const folder = join(into, `${i % 100}`)
    if (i < 100) await mkdir(folder)
    content.writeUInt32LE(i)
    await writeFile(join(folder, `${i}.bin`), content)
  }
}

async function measure({ name, command, args, env }: Downloader, prefix: string): Promise<DownloadRun> {
  const into = await mkdtemp(join(dir, 'into-'))
  await run('sync', [])
  const begun = performance.now()
  const child = spawn(command, args(prefix, into), { env: { PATH: process.env['PATH'], ...env }, stdio: 'ignore' })
  const usage = { cpuSeconds: 0, peakMiB: 0 }
  const look = () => {
    try {
      usage.cpuSeconds = cpuSeconds(child.pid ?? 0)
      usage.peakMiB = memoryMiB(child.pid ?? 0).peak || usage.peakMiB
    } catch {
      // It has just ended: the last look counts.
    }
  }
  const timer = setInterval(look, LOOK_EVERY_MS)
  const status = await new Promise((resolve) => child.once('exit', resolve))
  const seconds = (performance.now() - begun) / 1000
  clearInterval(timer)
  await run('sync', ['-f', into])
  const durableSeconds = (performance.now() - begun) / 1000
  await emptyFiles(into)
  if (status !== 0) throw new Error(`${name} ended with ${status}`)
  log(
    `${name}, ${prefix}: ${seconds.toFixed(1)} s, ${durableSeconds.toFixed(1)} s to the disk, ${Math.round(usage.peakMiB)} MiB`,
  )
  return { downloader: name, seconds, durableSeconds, ...usage }
}
