/** The scenarios that show that a pair of versions works, with the file of each. */

export interface Scenario {
  name: string
  file: string
  /** A part of the titles of its tests; absent for all tests of the file. */
  title?: string
}

export const scenarios: readonly Scenario[] = [
  { name: 'main job', file: 'main-job' },
  { name: 'claims', file: 'loops' },
  { name: 'policies', file: 'policies' },
  { name: 'holds', file: 'holds' },
  { name: 'dependencies', file: 'dependencies' },
  { name: 'injection', file: 'injection' },
  { name: 'volume admission', file: 'vck', title: 'is refused when it is created' },
  { name: 'uninstall', file: 'uninstall' },
]
