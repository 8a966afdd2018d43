/** Finds claims that affect no placement: their workload is an attached dependency, or has no binding. */
import type { DataSourceClaim } from '../../api/data-source-claim.ts'
import type { ResourceBinding } from '../../api/karmada.ts'
import { objectKey } from '../../api/meta.ts'
import { type ConditionState, condition } from '../../base/conditions.ts'
import { isObject } from '../../base/json.ts'
import { listNames } from '../../base/names.ts'

/** The condition: False while the claim affects no placement, else absent. */
export const EFFECTIVE = 'Effective'

const ATTACHED = 'AttachedDependency'

/**
 * Returns the condition of a claim that affects no placement, with the remedy; undefined if a binding of its workload has a placement.
 *
 * @param bindings the bindings of the workloads that the claim may name
 */
export function noEffect(
  { metadata, spec }: DataSourceClaim,
  bindings: readonly ResourceBinding[],
): ConditionState | undefined {
  const [attached] = bindings
  if (bindings.some((binding) => binding.spec.placement !== undefined)) return undefined
  const { kind, name } = spec.workload
  if (attached === undefined) {
    const skipped = skippedNamespace(spec.workload.namespace ?? metadata.namespace ?? '')
    const message = `${kind} ${name} has no binding yet; create it, and a policy that selects it`
    return condition(EFFECTIVE, false, 'NoBinding', skipped === undefined ? message : `${message}; ${skipped}`)
  }
  return condition(EFFECTIVE, false, ATTACHED, describeAttached(kind, name, attached))
}

/**
 * Why Karmada gives no object of a namespace a binding; undefined if it does (v1.18.2, pkg/util/names/names.go, IsReservedNamespace, and
 * cmd/controller-manager/app/options/options.go, SkippedPropagatingNamespaces). The workload may have no namespace, so this is not the only cause.
 */
function skippedNamespace(namespace: string): string | undefined {
  const found = SKIPPED_NAMESPACES.find(([names]) => names.test(namespace))
  return found && `objects of namespace ${namespace} get none, since Karmada ${found[1]}`
}

const SKIPPED_NAMESPACES: readonly (readonly [names: RegExp, why: string])[] = [
  [/^(karmada-system|karmada-cluster|karmada-es-.*)$/, 'reserves it; use another namespace'],
  [/^kube-/, 'skips it by default; use another namespace, or change its --skipped-propagating-namespaces'],
]

/** Adds the reason of an attached dependency to the condition that `kubectl get` prints. */
export function withNoEffect(resolved: ConditionState, effect: ConditionState | undefined): ConditionState {
  if (effect?.reason !== ATTACHED) return resolved
  return { ...resolved, message: `${resolved.message}; the claim has no effect: ${effect.message}` }
}

/** The distributor of dependencies creates bindings without a placement. They follow the bindings in `requiredBy`. */
function describeAttached(kind: string, name: string, { spec: { requiredBy } }: ResourceBinding): string {
  // In a folder, a binding may have any shape.
  const snapshots = Array.isArray(requiredBy) ? requiredBy.filter(isObject) : []
  const names = snapshots.map((binding) => objectKey(binding['namespace'] as string, String(binding['name'])))
  const owners = names.length === 0 ? 'workloads that need it' : `workloads of ${listNames(names, OWNERS_SHOWN)}`
  return `${kind} ${name} is a dependency, and follows the ${owners}; name such a workload instead`
}

const OWNERS_SHOWN = 3
