/** The versions of Kubernetes and Karmada that the scenarios can run with, beside those of `binaries/go.mod`. */

export interface Pair {
  kubernetes: string
  karmada: string
}

export type Project = keyof Pair

/** The variable that selects a pair for a test run, such as `1.28.15+1.16.0`. Without it, `binaries/go.mod` has the versions. */
export const PAIR_VARIABLE = 'LODESTONE_E2E_PAIR'

/** From the oldest to the newest. The first one is `oldest`. */
export const pairs: readonly Pair[] = [
  { kubernetes: '1.28.15', karmada: '1.16.0' },
  { kubernetes: '1.31.14', karmada: '1.17.1' },
  { kubernetes: '1.34.4', karmada: '1.18.2' },
  { kubernetes: '1.37.2', karmada: '1.18.2' },
]

/**
 * Libraries that the Go module proxy lacks in a version of Kubernetes, with the version of the patch release that replaces them. Only the
 * controllers and the scheduler use them.
 */
export const replacedLibraries: Readonly<Record<string, { version: string; libraries: readonly string[] }>> = {
  '1.31.14': {
    version: '0.31.4',
    libraries: ['cri-client', 'csi-translation-lib', 'endpointslice', 'kube-controller-manager', 'kube-scheduler'],
  },
}

export function nameOfPair({ kubernetes, karmada }: Pair): string {
  return `${kubernetes}+${karmada}`
}

/** Returns the pair of a name or of `oldest`. Throws for an unknown one, with the known ones and the `others` that the caller knows. */
export function pairNamed(name: string, others: readonly string[] = []): Pair {
  const found = name === 'oldest' ? pairs[0] : pairs.find((pair) => nameOfPair(pair) === name)
  if (!found)
    throw new RangeError(`unknown pair ${name}; use ${[...others, 'oldest', ...pairs.map(nameOfPair)].join(', ')}`)
  return found
}

/** Returns the pair of this test run; undefined for the versions of `binaries/go.mod`. */
export function selectedPair(): Pair | undefined {
  const name = process.env[PAIR_VARIABLE]
  return name ? pairNamed(name) : undefined
}

/** Returns the minor version of `1.28.15`, `v1.28.15` or `Kubernetes v1.28.15`: 28. Throws if there is none. */
export function minorOf(version: string): number {
  const minor = /\bv?1\.(\d+)/.exec(version)?.[1]
  if (minor === undefined) throw new Error(`no version 1.x in ${version}`)
  return Number(minor)
}
