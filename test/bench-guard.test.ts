/** The bounds of `npm run bench:guard`: how they follow from calibration runs, and what fails. */
import { describe, expect, test } from 'vitest'
import { type Better, boundOf, type Calibration, calibrate, check } from '../bench/harness/bounds.ts'

const RATIO = 'reviews ÷ Karmada'
const MEMORY = 'MiB after the load'

/** Five runs whose worst values are 3 for the ratio and 320 for the memory. */
const runs = [
  [3.2, 310],
  [3, 320],
  [3.1, 305],
  [3.2, 310],
  [3.1, 300],
].map(([ratio, memory]) => measured(ratio, memory))

function measured(ratio = 3, memory = 300) {
  return [
    { name: RATIO, value: ratio, better: 'higher' as const },
    { name: MEMORY, value: memory, better: 'lower' as const },
  ]
}

function calibration(change: Partial<Calibration['figures'][string]> = {}): Calibration {
  const { machine, figures } = calibrate('2 CPUs', runs)
  return {
    machine,
    figures: { ...figures, [RATIO]: { ...figures[RATIO], ...change } as Calibration['figures'][string] },
  }
}

describe('a bound', () => {
  test.each<{ better: Better; values: number[]; bound: number; why: string }>([
    { better: 'higher', values: [3, 3, 3, 3, 3], bound: 2.7, why: 'a tenth below equal values' },
    { better: 'lower', values: [3, 3, 3, 3, 3], bound: 3.3, why: 'a tenth above equal values' },
    { better: 'higher', values: [4, 3, 4, 4, 4], bound: 2, why: 'the spread below the worst value' },
    { better: 'lower', values: [1, 1.4, 1, 1, 1.2], bound: 1.8, why: 'the spread above the worst value' },
  ])('is $why', ({ better, values, bound }) => {
    expect(boundOf(better, values)).toBe(bound)
  })

  test('has three digits, as its calibration values', () => {
    const { figures } = calibrate(
      '2 CPUs',
      Array.from({ length: 5 }, () => measured(10 / 3, 1000 / 3)),
    )
    expect(figures[RATIO]).toEqual({ better: 'higher', values: [3.33, 3.33, 3.33, 3.33, 3.33], bound: 3 })
    expect(figures[MEMORY]).toEqual({ better: 'lower', values: [333, 333, 333, 333, 333], bound: 366 })
  })

  test.each([
    ['values that differ by more than half of the worst one', [3, 3, 3, 3, 4.6]],
    ['a value that is not a number', [3, 3, Number.NaN, 3, 3]],
    ['values of zero', [0, 0, 0, 0, 0]],
  ])('does not follow from %s', (_, values) => {
    expect(() =>
      calibrate(
        '2 CPUs',
        values.map((value) => measured(value)),
      ),
    ).toThrow(new RangeError(`${RATIO}: ${values.join(', ')} differ too much; calibrate on a quiet machine`))
  })
})

describe('a figure', () => {
  const { [RATIO]: ratio, [MEMORY]: memory } = calibration().figures

  test.each([
    { what: 'within both bounds', figures: measured(3.3, 310), problems: [] },
    { what: 'at both bounds', figures: measured(ratio?.bound, memory?.bound), problems: [] },
    { what: 'below a bound', figures: measured(2.6, 310), problems: [`${RATIO} is below its bound`] },
    { what: 'above a bound', figures: measured(3, 400), problems: [`${MEMORY} is above its bound`] },
    { what: 'that is not a number', figures: measured(Number.NaN), problems: [`${RATIO} is not a number`] },
    { what: 'that was not measured', figures: measured().slice(0, 1), problems: [`${MEMORY} was not measured`] },
    {
      what: 'without a bound',
      figures: [...measured(), { name: 'p99', value: 1, better: 'lower' as const }],
      problems: ['p99 has no bound'],
    },
  ])('$what', ({ figures, problems }) => {
    expect(problemsOf(figures, calibration())).toEqual(problems)
  })

  test.each([
    {
      what: 'was changed by hand',
      change: { bound: 1 },
      problem: 'has an invalid bound: 1; its calibration values give 2.7',
    },
    {
      what: 'has too few values',
      change: { values: [3, 3] },
      problem: 'has an invalid bound: 2 calibration values instead of 5',
    },
    {
      what: 'has the wrong direction',
      change: { better: 'lower' as const },
      problem: 'has an invalid bound: lower is better there',
    },
  ])('whose bound $what', ({ change, problem }) => {
    expect(problemsOf(measured(), calibration(change))).toEqual([`${RATIO} ${problem}`])
  })
})

function problemsOf(...given: Parameters<typeof check>): string[] {
  return check(...given).flatMap(({ name, problem }) => (problem === undefined ? [] : [`${name} ${problem}`]))
}
