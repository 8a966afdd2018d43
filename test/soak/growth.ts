// Whether a process keeps growing: the last third of its samples against the third before it.
import type { Sample } from './replicas.ts'

// Less than this is noise of the garbage collector, and of connections that come and go.
const rssMargin = { ratio: 1.1, mib: 12 }
const descriptorMargin = 15

// Fewer samples say nothing: connections come and go with every fault.
const fewestSamples = 60

// Returns the metrics that grew after the warm-up of a process; `samples` are of that process.
export function growthOf(samples: readonly Sample[], warmUpSeconds: number): string[] {
  const began = samples[0]?.seconds ?? 0
  const after = samples.filter(({ seconds }) => seconds >= began + warmUpSeconds)
  if (after.length < fewestSamples) return []
  const third = Math.floor(after.length / 3)
  const [before, last] = [after.slice(-2 * third, -third), after.slice(-third)]
  const rss = [before, last].map((part) => median(part.map(({ rssMiB }) => rssMiB))) as [number, number]
  const open = [before, last].map((part) => median(part.map(({ descriptors }) => descriptors))) as [number, number]
  return [
    ...(rss[1] > rss[0] * rssMargin.ratio + rssMargin.mib
      ? [`RSS grew from ${rss[0].toFixed()} to ${rss[1].toFixed()} MiB`]
      : []),
    ...(open[1] > open[0] + descriptorMargin ? [`file descriptors grew from ${open[0]} to ${open[1]}`] : []),
  ]
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
