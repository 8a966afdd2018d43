/** `lodestone kustomize-config`: prints the configuration with which kustomize keeps names in claims and policies right. */
import { dataSourceClaims } from '../api/data-source-claim.ts'
import { secrets, serviceAccounts } from '../api/dependencies.ts'
import { clusterPropagationPolicies, propagationPolicies } from '../api/karmada.ts'
import type { ResourceType } from '../api/meta.ts'
import { volumeManagers } from '../api/volume-manager.ts'
import { loadConfig } from '../app/config/config.ts'
import { configuredWorkloadKinds } from '../app/config/workload-kinds-config.ts'
import { defined } from '../base/json.ts'
import { SECRET_OPTIONS } from '../core/volume-manager/rules/source-types.ts'
import type { WorkloadKinds } from '../core/workload-kinds/kinds.ts'
import { kindKey } from '../store/any-kind.ts'
import { dependencyKinds } from '../store/kinds/dependencies.ts'
import type { Arguments, Command, CommandIo } from './command.ts'
import { configOption } from './options/read-config.ts'
import { renderYaml } from './output.ts'

export const kustomizeConfig: Command = {
  usage: '[--config FILE]',
  options: {
    ...configOption('Configuration file of the server, for its kinds'),
  },
  examples: [
    {
      command: 'lodestone kustomize-config > lodestone-names.yaml',
      does: "Write the file that 'configurations:' of a kustomization.yaml names",
    },
    {
      command: 'lodestone kustomize-config -c lodestone.yaml > lodestone-names.yaml',
      does: 'Also with the workloadKinds of a configuration',
    },
  ],
  run: printConfig,
}

/** Printed before the configuration, because no error of kustomize says it. */
const HEAD = `# Name references of Lodestone for kustomize. In kustomization.yaml:
#   configurations: [lodestone-names.yaml]
#
# With namePrefix, nameSuffix or a name hash, kustomize then also changes these names:
# the workload of a DataSourceClaim, the selectors of policies, and the Secrets and ServiceAccounts of a VolumeManager.
#
# Not possible: names in the annotations lodestone.dev/volumes and lodestone.dev/depends-on.
# They are inside of a text, which kustomize does not read. Write the final name there,
# and check the result: kustomize build . | lodestone check -f -
`

async function printConfig(args: Arguments, io: CommandIo): Promise<number> {
  const nameReference = nameReferences(configuredWorkloadKinds(loadConfig(args.text('config'))))
  io.stdout.write(`${HEAD}${renderYaml({ nameReference })}`)
  return 0
}

interface FieldSpec {
  group: string
  kind: string
  path: string
}

/**
 * The references to each kind: claims name workloads, policies select these and their dependencies, and volumes name Secrets and
 * ServiceAccounts.
 */
function nameReferences(workloads: WorkloadKinds) {
  const policies = [propagationPolicies, clusterPropagationPolicies].map((type) =>
    field(type, 'spec/resourceSelectors/name'),
  )
  const claims = [field(dataSourceClaims, 'spec/workload/name')]
  const ofVolumes = new Map([
    [secrets, SECRET_OPTIONS.map((option) => field(volumeManagers, `spec/volumeConfigs/options/${option}`))],
    [serviceAccounts, [field(volumeManagers, 'spec/volumeConfigs/mover/serviceAccountName')]],
  ])
  const types = new Map([...workloads.all, ...dependencyKinds].map(({ type }) => [kindKey(type), type]))
  return [...types.values()].map((type) =>
    defined({
      // Kustomize matches every version of the kind.
      group: type.group || undefined,
      kind: type.kind,
      fieldSpecs: [...claims, ...policies, ...(ofVolumes.get(type) ?? [])],
    }),
  )
}

function field({ group, kind }: ResourceType, path: string): FieldSpec {
  return { group, kind, path }
}
