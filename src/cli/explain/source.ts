/** Explains a DataSource: its location, and the workloads that claim its data. */
import { type DataSource, dataSources } from '../../api/data-source.ts'
import type { DataSourceClaim } from '../../api/data-source-claim.ts'
import { keyOfObject, referenceOf } from '../../api/meta.ts'
import { answerOfSource } from '../../core/data-source/locate.ts'
import { refusalOfClaim } from '../../queries/permission.ts'
import { claimsOfSource } from '../../queries/source.ts'
import { sourceNode } from './data.ts'
import { firstNodes } from './lists.ts'
import { placeWorkload, workloadSummary } from './placed.ts'
import type { Context, Explainer } from './target.ts'
import type { TreeNode } from './tree.ts'
import { kindsOfPlacement, workloadOfClaim } from './workload.ts'

export const sourceExplainer: Explainer = {
  reads: () => kindsOfPlacement,
  async explain({ name }, context) {
    const source = context.store.get(dataSources, undefined, name)
    return source && explainSource(source, context)
  },
}

async function explainSource(source: DataSource, context: Context): Promise<TreeNode> {
  const claims = claimsOfSource(source, context.store)
  const root = sourceNode(source, answerOfSource(source), context.now)
  const users = await firstNodes(claims, (claim) => userNode(claim, context))
  const unused = { text: 'no DataSourceClaim asks for its data', state: 'Unused' }
  return { ...root, children: [...(root.children ?? []), ...(claims.length > 0 ? users : [unused])] }
}

async function userNode(claim: DataSourceClaim, context: Context): Promise<TreeNode> {
  const refusal = refusalOfClaim(claim, context.store, context.config.claims.clusterScoped)
  const placed = await placeWorkload(workloadOfClaim(claim, context.kinds), context)
  return {
    ...referenceOf(claim),
    text: `DataSourceClaim ${keyOfObject(claim)}`,
    children: [
      ...(refusal === undefined ? [] : [{ text: `not permitted, and ignored: ${refusal}`, state: 'NotPermitted' }]),
      ...(placed ? [workloadSummary(placed)] : []),
    ],
  }
}
