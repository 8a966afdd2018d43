/** Explains a VolumeManager: its volumes with their replicas, and on a hub its placement and its state in each member. */
import { referenceTitle } from '../../api/meta.ts'
import { stringsAt } from '../../base/json-path.ts'
import { isHub } from '../../queries/volumes.ts'
import { placeWorkload } from './placed.ts'
import { placementNodes } from './placement.ts'
import { type Context, type Explainer, type Target, targetReference } from './target.ts'
import type { TreeNode } from './tree.ts'
import { readManager, volumeNodes } from './volume.ts'
import { kindsOfPlacement } from './workload.ts'

export const volumeManagerExplainer: Explainer = {
  reads: () => kindsOfPlacement,
  async explain(target, context) {
    const read = await readManager(context, target.namespace, target.name)
    return read && explainManager(read, target, context)
  },
}

async function explainManager(
  { manager, errors }: NonNullable<Awaited<ReturnType<typeof readManager>>>,
  target: Target,
  context: Context,
): Promise<TreeNode> {
  const { status } = manager
  const state = errors.length > 0 ? 'Invalid' : (status?.state ?? 'Pending')
  const message = status?.conditions?.find(({ type }) => type === 'Ready')?.message ?? status?.message
  const reference = targetReference(target)
  return {
    ...reference,
    text: `${referenceTitle(reference)}: ${state}`,
    state,
    children: [
      ...(message ? [{ text: message }] : []),
      ...errors.map(({ path, message: problem }) => ({ text: `${path}: ${problem}` })),
      ...(manager.metadata.deletionTimestamp ? [{ text: 'it is being deleted', state: 'Terminating' }] : []),
      ...(await volumeNodes(manager, context.now)),
      ...(isHub(context.store) ? await explainPlacement(target, context) : []),
    ],
  }
}

/** On a hub: the policy and the binding, with the state in each member. */
async function explainPlacement(target: Target, context: Context): Promise<TreeNode[]> {
  const placed = await placeWorkload(target, context)
  if (!placed) return []
  const members = placed.placement?.binding.status?.aggregatedStatus ?? []
  return [
    ...placementNodes(placed),
    ...members.map(({ clusterName, status }) => {
      const [state = 'Pending'] = stringsAt(status, 'state')
      return { text: `in ${clusterName}: ${state}`, state, clusters: [clusterName] }
    }),
  ]
}
