/** Describes an object that does not exist: with a similar name, or the namespaces that have an object of this name. */
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import { groupOf, type ResourceType } from '../../api/meta.ts'
import { defined } from '../../base/json.ts'
import { suggest } from '../../base/suggest.ts'
import { kindKey } from '../../store/any-kind.ts'
import type { ObjectName } from '../../store/store.ts'
import { type Context, referenceTitle, type Target } from './target.ts'
import { workloadOfClaim } from './workload.ts'

/** Objects of a kind in one namespace that are compared. A folder or a hub may have more. */
const MAX_NAMES = 10_000

/** @param targets the kinds that the word may mean, in one namespace and with one name */
export function describeMissing(targets: readonly Target[], context: Context): string {
  const [{ namespace, name } = { name: '' }] = targets
  const titles = targets.map(({ type, namespace: own }) =>
    referenceTitle(defined({ kind: type.kind, namespace: own || undefined, name })),
  )
  const known = targets.flatMap(({ type }) => knownNames(type, context))
  const elsewhere = known.filter((each) => each.name === name && each.namespace && each.namespace !== namespace)
  const here = known.filter((each) => each.namespace === undefined || each.namespace === namespace)
  const [namespaceOfOther] = elsewhere.map((each) => each.namespace)
  const hint = namespaceOfOther
    ? `; it is in namespace ${namespaceOfOther}: add -n ${namespaceOfOther}`
    : suggest(
        name,
        here.slice(0, MAX_NAMES).map((each) => each.name),
      )
  return `${[...new Set(titles)].join(' and ')} not found ${context.place}${hint}`
}

/** The known names of a kind: of the cached objects, and those in claims. */
function knownNames(type: ResourceType, { store, kinds }: Context): ObjectName[] {
  const isCached = (each: ResourceType) => store.kinds().some((cached) => kindKey(cached) === kindKey(each))
  const objects = isCached(type) ? [...store.list(type)].map(({ metadata }) => metadata) : []
  const claims = isCached(dataSourceClaims) ? [...store.list(dataSourceClaims)] : []
  const claimed = claims.filter(
    ({ spec: { workload } }) => workload.kind === type.kind && groupOf(workload.apiVersion) === type.group,
  )
  return [
    ...objects.map(({ namespace, name = '' }) => ({ namespace, name })),
    ...claimed.map((claim) => workloadOfClaim(claim, kinds)),
  ]
}
