/** Explains a workload of a member cluster: its hub has decided on its placement, and here its pods get their volumes. */
import { type K8sObject, referenceOf, referenceTitle } from '../../api/meta.ts'
import type { PlacedRequest } from '../../core/workload/requests/volume-requests.ts'
import { parseAll, workloadRequests } from '../../core/workload/requests/workload-requests.ts'
import { type Context, readTarget, type Target } from './target.ts'
import type { TreeNode } from './tree.ts'
import { readRequested } from './volume-requests.ts'

export const HUB_DECIDES = 'no object of a hub is here; for its placement, explain it on the hub'

/** Returns undefined if the workload does not exist. */
export async function explainInMember(target: Target, context: Context): Promise<TreeNode | undefined> {
  const object = await readTarget(target, context.store)
  if (!object) return undefined
  const reference = referenceOf(object)
  const { requests, errors } = requestsIn(object, context)
  const volumes = await readRequested(requests, reference.namespace, context)
  const problems = [...errors, ...volumes.problems]
  const [state, message] =
    problems.length > 0
      ? ['Denied', 'its pods cannot get their volumes']
      : requests.length === 0
        ? ['NotSelected', 'its pods request no volumes']
        : volumes.mustWait
          ? ['Gated', 'its pods wait for their volumes']
          : ['Injected', 'its pods get their volumes']
  return {
    ...reference,
    text: `${referenceTitle(reference)}: ${message}`,
    state,
    reason: message,
    children: [{ text: HUB_DECIDES }, ...problems, ...volumes.nodes],
  }
}

/** The requests of all of its pod templates, each once. */
function requestsIn(object: K8sObject, { kinds }: Context): { requests: PlacedRequest[]; errors: TreeNode[] } {
  const kind = kinds.find(object.apiVersion, object.kind)
  const parsed = kind
    ? parseAll(workloadRequests(object, kind, undefined, undefined).requests).map((each) => each.parsed)
    : []
  const requests = parsed.flatMap((each) => ('requests' in each ? each.requests : []))
  const errors = parsed.flatMap((each) => ('errors' in each ? each.errors : []))
  return {
    requests: [...new Map(requests.map((placed) => [JSON.stringify(placed.request), placed])).values()],
    errors: [...new Set(errors.map(({ path, message }) => `${path}: ${message}`))].map((text) => ({ text })),
  }
}
