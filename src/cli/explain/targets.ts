/** The table of kinds with their explainers. Policies may select every other kind, so it is explained as a workload. */
import { dataSources } from '../../api/data-source.ts'
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import { clusterResourceBindings, resourceBindings } from '../../api/karmada.ts'
import type { ResourceType } from '../../api/meta.ts'
import { kindKey } from '../../store/kinds/any-kind.ts'
import { sourceExplainer } from './source.ts'
import type { Explainer } from './target.ts'
import { bindingExplainer, claimExplainer, workloadExplainer } from './workload.ts'

const EXPLAINERS: readonly (readonly [ResourceType, Explainer])[] = [
  [dataSourceClaims, claimExplainer],
  [dataSources, sourceExplainer],
  [resourceBindings, bindingExplainer],
  [clusterResourceBindings, bindingExplainer],
]

const byKind = new Map(EXPLAINERS.map(([type, explainer]) => [kindKey(type), explainer]))

export function explainerOf(type: ResourceType): Explainer {
  return byKind.get(kindKey(type)) ?? workloadExplainer
}
