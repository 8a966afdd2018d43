/** Features of kube-apiserver and Karmada that Lodestone uses, and how it works where an older version lacks one. */
import { haveField } from './karmada-rules.ts'

export interface ServerInfo {
  /** `gitVersion` of the API server, such as `v1.28.15`. */
  version: string
  /** The OpenAPI schemas of Karmada's bindings by name; absent if the API server does not serve them. */
  bindingSchemas?: Readonly<Record<string, unknown>>
}

export interface MissingFeature {
  feature: 'matchConditions' | 'schedulingGates' | 'schedulingSuspension'
  /** The effect, and the remedy. */
  message: string
}

interface FeatureInputs extends ServerInfo {
  /** Whether pods wait at a gate for their data. */
  usesGates: boolean
}

interface Feature extends MissingFeature {
  isMissing(inputs: FeatureInputs): boolean
}

const features: readonly Feature[] = [
  {
    feature: 'matchConditions',
    message:
      'kube-apiserver ignores matchConditions before 1.28 and sends Lodestone every write of its kinds; upgrade to Kubernetes 1.28',
    isMissing: ({ version }) => isOlder(version, 28),
  },
  {
    feature: 'schedulingGates',
    message:
      'kube-apiserver has no scheduling gates before 1.27, so pods start without data that is not ready; upgrade to Kubernetes 1.28, or set volumes.whenNotReady: refuse',
    isMissing: ({ version, usesGates, bindingSchemas }) => usesGates && !bindingSchemas && isOlder(version, 27),
  },
  {
    feature: 'schedulingSuspension',
    message:
      'Karmada has no spec.suspension.scheduling before 1.13, so workloads are scheduled while they are on hold; upgrade to Karmada 1.13.3',
    isMissing: ({ bindingSchemas }) =>
      bindingSchemas !== undefined && !haveField(bindingSchemas, ['spec', 'suspension', 'scheduling']),
  },
]

/** Returns the features that the API server lacks. A version that cannot be read counts as new. */
export function missingFeatures(inputs: FeatureInputs): MissingFeature[] {
  return features.filter(({ isMissing }) => isMissing(inputs)).map(({ feature, message }) => ({ feature, message }))
}

function isOlder(version: string, minor: number): boolean {
  const [, found] = /^v?1\.(\d+)/.exec(version) ?? []
  return found !== undefined && Number(found) < minor
}
