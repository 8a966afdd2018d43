/** The results of the mover's benchmark as Markdown. */
import { table } from './markdown.ts'

export interface DownloadRun {
  downloader: string
  /** Until the program ended, and until everything was on the disk. */
  seconds: number
  durableSeconds: number
  cpuSeconds: number
  peakMiB: number
}

export interface DatasetRuns {
  dataset: string
  bytes: number
  files: number
  runs: DownloadRun[]
}

const WANTED_RATIO = 0.7
const WANTED_MIB = 256

const isMover = (name: string) => name.startsWith('lodestone')

export function report(setting: string, datasets: DatasetRuns[], names: string[]): string {
  const rows = datasets.flatMap(({ dataset, bytes, files, runs }) =>
    medians(runs, names).map(({ downloader, seconds, durableSeconds, cpuSeconds, peakMiB }) => [
      dataset,
      downloader,
      seconds.toFixed(1),
      durableSeconds.toFixed(1),
      Math.round(bytes / 2 ** 20 / durableSeconds),
      Math.round(files / durableSeconds),
      cpuSeconds.toFixed(1),
      Math.round(peakMiB),
    ]),
  )
  const ratios = datasets.flatMap(({ dataset, runs }) => {
    const all = medians(runs, names)
    const others = all.filter(({ downloader }) => !isMover(downloader))
    return all
      .filter(({ downloader }) => isMover(downloader))
      .map((mover) => {
        const ratio = (by: (run: DownloadRun) => number) => (Math.min(...others.map(by)) / by(mover)).toFixed(2)
        const durable = ratio((run) => run.durableSeconds)
        const ended = ratio((run) => run.seconds)
        const peak = Math.round(mover.peakMiB)
        return [dataset, mover.downloader, durable, ended, `≥ ${WANTED_RATIO}`, peak, `≤ ${WANTED_MIB}`]
      })
  })
  return [
    `${setting}\n`,
    table(['dataset', 'program', 'ends after s', 'on the disk after s', 'MiB/s', 'files/s', 'CPU s', 'peak MiB'], rows),
    table(
      [
        'mover ÷ the better of the others',
        'mover',
        'throughput to the disk',
        'throughput to its end',
        'to reach',
        'peak MiB',
        'to reach',
      ],
      ratios,
    ),
  ].join('\n')
}

/** Of each program the median round by the time to the disk. */
function medians(runs: DownloadRun[], names: string[]): DownloadRun[] {
  return names.flatMap((name) => {
    const own = runs.filter(({ downloader }) => downloader === name)
    const sorted = own.sort((a, b) => a.durableSeconds - b.durableSeconds)
    return sorted[Math.floor((sorted.length - 1) / 2)] ?? []
  })
}
