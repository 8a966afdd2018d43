/** Bounds of the figures that `bench:guard` checks: how they follow from calibration runs, and which figures are outside of theirs. */

export type Better = 'higher' | 'lower'

/** A measured value. A ratio names its baseline, which was measured in the same run. */
export interface Figure {
  name: string
  value: number
  better: Better
}

interface Bound {
  better: Better
  /** The measured values from which the bound follows, one for each calibration run. */
  values: number[]
  bound: number
}

/** The calibration of one benchmark: the machine, and the bounds by the name of the figure. */
export interface Calibration {
  machine: string
  figures: Record<string, Bound>
}

/** A line of the result. `problem` is absent if the figure is within its bound. */
export interface Check {
  name: string
  value: number | undefined
  better: Better
  bound: number | undefined
  problem?: string
}

/** As in the performance tests of Kueue, whose bounds come from five runs too (test/performance/scheduler/configs). */
export const CALIBRATION_RUNS = 5
/** The least distance from the worst value to the bound, as a share of that value. */
const LEAST_MARGIN = 0.1
/** Values that differ by more than this share of the worst value give no useful bound. */
const MAX_SPREAD = 0.5

/**
 * Returns the bound for these values: the worst value, and a margin. The margin is the difference between the best and the worst value, and
 * at least a tenth of the worst value.
 */
export function boundOf(better: Better, values: number[]): number {
  const { worst, spread } = extremesOf(better, values)
  const margin = Math.max(spread, LEAST_MARGIN * worst)
  return rounded(better === 'higher' ? worst - margin : worst + margin)
}

/** Returns the calibration from the figures of each run. Throws a RangeError if the values of a figure differ too much for a bound. */
export function calibrate(machine: string, runs: Figure[][]): Calibration {
  const [first = []] = runs
  const figures = first.map(({ name, better }): [string, Bound] => {
    const values = runs.map((run) => rounded(run.find((figure) => figure.name === name)?.value ?? Number.NaN))
    const { worst, spread } = extremesOf(better, values)
    // Written like this, values that are not a number fail too.
    if (!(worst > 0 && spread <= MAX_SPREAD * worst)) {
      throw new RangeError(`${name}: ${values.join(', ')} differ too much; calibrate on a quiet machine`)
    }
    return [name, { better, values, bound: boundOf(better, values) }]
  })
  return { machine, figures: Object.fromEntries(figures) }
}

/** Compares figures with their bounds. A figure without a valid bound, and a bound without a figure, are problems too. */
export function check(measured: Figure[], { figures }: Calibration): Check[] {
  const checks = measured.map(({ name, value, better }): Check => {
    const found = figures[name]
    const problem = found === undefined ? 'has no bound' : (invalidBound(better, found) ?? outside(value, found))
    return { name, value, better, bound: found?.bound, ...(problem !== undefined && { problem }) }
  })
  const names = new Set(measured.map(({ name }) => name))
  const missing = Object.entries(figures).filter(([name]) => !names.has(name))
  return [
    ...checks,
    ...missing.map(([name, { better, bound }]): Check => {
      return { name, value: undefined, better, bound, problem: 'was not measured' }
    }),
  ]
}

/** Returns why a bound of the file is not the one that follows from its values. */
function invalidBound(better: Better, { values, bound, ...found }: Bound): string | undefined {
  if (found.better !== better) return `has an invalid bound: ${found.better} is better there`
  if (values.length !== CALIBRATION_RUNS) {
    return `has an invalid bound: ${values.length} calibration values instead of ${CALIBRATION_RUNS}`
  }
  const expected = boundOf(better, values)
  return bound === expected ? undefined : `has an invalid bound: ${bound}; its calibration values give ${expected}`
}

function outside(value: number, { better, bound }: Bound): string | undefined {
  if (!Number.isFinite(value)) return 'is not a number'
  if (better === 'higher' ? value >= bound : value <= bound) return undefined
  return better === 'higher' ? 'is below its bound' : 'is above its bound'
}

function extremesOf(better: Better, values: number[]): { worst: number; spread: number } {
  const [least, most] = [Math.min(...values), Math.max(...values)]
  return { worst: better === 'higher' ? least : most, spread: most - least }
}

/** Three digits: the values are less exact than that. */
function rounded(value: number): number {
  return Number(value.toPrecision(3))
}
