/** Finds annotations and labels of Lodestone that have no effect: a mistyped key or value, or a key of another kind. */
import { dataSources } from '../../../api/data-source.ts'
import { dataSourceClaims } from '../../../api/data-source-claim.ts'
import { clusterPropagationPolicies, propagationPolicies } from '../../../api/karmada.ts'
import {
  ALLOW_CLAIMS_FROM_ANNOTATION,
  CHECK_ANNOTATION,
  DELETE_IN_USE_ANNOTATION,
  ENFORCE_CLAIMS,
  ENFORCE_LABEL,
  PROPAGATE_DEPS_ANNOTATION,
  PROPAGATE_DEPS_SET_ANNOTATION,
  REFRESH_ANNOTATION,
  REQUIRES_CLAIM_ANNOTATION,
} from '../../../api/lodestone.ts'
import type { ResourceType } from '../../../api/meta.ts'
import { namespaces } from '../../../api/namespace.ts'
import { volumeManagers } from '../../../api/volume-manager.ts'
import { suggest } from '../../../base/suggest.ts'
import type { Manifest } from '../../../store/folder/manifests.ts'
import { fieldPlace, objectTitle } from '../input/place-manifests.ts'
import { hasType } from '../input/validate-manifest.ts'
import { type Finding, finding } from './findings.ts'

/** The keys of a kind, each with the values that have an effect; `any` for a free text. */
type Keys = Readonly<Record<string, 'any' | readonly string[]>>

interface KindKeys {
  types: readonly ResourceType[]
  annotations?: Keys
  labels?: Keys
}

const FLAG = ['true', 'false']

/** The kinds that users annotate. Admission itself warns about the annotations of workloads and pods. */
const KINDS: readonly KindKeys[] = [
  {
    types: [propagationPolicies, clusterPropagationPolicies],
    annotations: {
      [REQUIRES_CLAIM_ANNOTATION]: FLAG,
      [PROPAGATE_DEPS_ANNOTATION]: FLAG,
      [PROPAGATE_DEPS_SET_ANNOTATION]: FLAG,
    },
  },
  {
    types: [namespaces],
    annotations: { [ALLOW_CLAIMS_FROM_ANNOTATION]: 'any' },
    labels: { [ENFORCE_LABEL]: [...FLAG, ENFORCE_CLAIMS] },
  },
  {
    types: [volumeManagers],
    annotations: { [DELETE_IN_USE_ANNOTATION]: FLAG, [CHECK_ANNOTATION]: 'any', [REFRESH_ANNOTATION]: 'any' },
  },
  { types: [dataSourceClaims, dataSources] },
]

const DOMAIN = 'lodestone.dev/'

/** Returns a finding for each key of Lodestone that has no effect on a policy, Namespace, VolumeManager, claim or DataSource. */
export function annotationFindings(manifest: Manifest): Finding[] {
  const { object } = manifest
  const keys = KINDS.find(({ types }) => types.some((type) => hasType(type, object)))
  if (!keys) return []
  return (['annotations', 'labels'] as const).flatMap((field) =>
    Object.entries(object.metadata[field] ?? {}).flatMap(([key, value]) => {
      const problem = keyProblem(key, value, keys[field] ?? {})
      const path = `metadata.${field}[${key}]`
      return problem === undefined
        ? []
        : [finding('ineffective-annotation', `${path}: ${problem}`, fieldPlace(manifest, path), objectTitle(object))]
    }),
  )
}

function keyProblem(key: string, value: string, keys: Keys): string | undefined {
  const values = Object.hasOwn(keys, key) ? keys[key] : undefined
  if (values !== undefined)
    return values === 'any' || values.includes(value)
      ? undefined
      : `has no effect; write ${values.join(' or ')} in quotes`
  if (!key.includes('lodestone')) return undefined
  const known = Object.keys(keys)
  const isOurs = key.startsWith(DOMAIN)
  // Only the part after our domain is compared: the domain alone would make any two keys similar.
  const hint = isOurs
    ? suggest(
        key.slice(DOMAIN.length),
        known.map((each) => each.slice(DOMAIN.length)),
      ).replace('mean ', `mean ${DOMAIN}`)
    : suggest(key, known)
  return isOurs || hint !== '' ? `has no effect on this kind${hint}` : undefined
}
