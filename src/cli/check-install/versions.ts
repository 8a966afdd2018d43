/** Checks the versions: of Kubernetes and Karmada by their features, and of the CRDs of Lodestone. */
import { isDeepStrictEqual } from 'node:util'
import { customResourceDefinitions } from '../../api/crds.ts'
import { type CustomResourceDefinition, definitionName, definitions } from '../../api/definition.ts'
import type { ResourceType } from '../../api/meta.ts'
import { volumeManagers } from '../../api/volume-manager.ts'
import { missingFeatures } from '../../core/server-features.ts'
import { readObject } from '../../store/cluster/object-writer.ts'
import { openServerInfo } from '../../store/cluster/server-info.ts'
import { type Check, failed, passed, type ReadContext, skipped, warning } from './check.ts'

interface Definition extends CustomResourceDefinition {
  spec: { versions: { name: string; served: boolean; schema?: { openAPIV3Schema?: unknown } }[] }
}

const definitionType: ResourceType<Definition> = definitions as ResourceType<Definition>

const KARMADA_FEATURE = 'schedulingSuspension'
const APPLY_CRDS = 'apply the CRDs: lodestone manifests crds | kubectl apply --server-side --force-conflicts -f -'

export const kubernetesVersion: Check<ReadContext> = {
  name: 'kubernetes',
  async run({ connection, config }) {
    const info = await openServerInfo(connection)()
    const usesGates = config.volumes.whenNotReady === 'gate'
    const missing = missingFeatures({ ...info, usesGates }).filter(({ feature }) => feature !== KARMADA_FEATURE)
    const title = `${info.version} at ${connection.server}`
    return missing.length === 0 ? passed(title) : warning(title, missing.map(({ message }) => message).join('; '))
  },
}

/** The API of Karmada does not show its version, so the check is for the field that holds need. */
export const karmadaVersion: Check<ReadContext> = {
  name: 'karmada',
  async run({ connection }) {
    const info = await openServerInfo(connection)()
    if (info.bindingSchemas === undefined) return skipped('no ResourceBindings: this is not a Karmada hub')
    const missing = missingFeatures({ ...info, usesGates: false }).find(({ feature }) => feature === KARMADA_FEATURE)
    return missing
      ? failed('ResourceBindings have no spec.suspension.scheduling', missing.message)
      : passed('ResourceBindings have spec.suspension.scheduling')
  },
}

export const crds: Check<ReadContext> = {
  name: 'crds',
  async run({ connection }) {
    const broken: string[] = []
    const different: string[] = []
    const versions: string[] = []
    for (const wanted of customResourceDefinitions() as Definition[]) {
      const { name = '' } = wanted.metadata
      const stored = await readObject(connection, definitionType, undefined, name)
      for (const { name: version } of wanted.spec.versions) {
        const problem = versionProblem(stored, version)
        if (problem !== undefined && isOptional(name)) different.push(`${name}: ${problem}`)
        else if (problem !== undefined) broken.push(`${name}: ${problem}`)
        else if (!isDeepStrictEqual(versionSchema(stored, version), versionSchema(wanted, version)))
          different.push(`${name}: the schema is that of another version of Lodestone`)
        else versions.push(`${name} ${version}`)
      }
    }
    if (broken.length > 0) return failed([...broken, ...different].join('; '), APPLY_CRDS)
    return different.length > 0 ? warning(different.join('; '), APPLY_CRDS) : passed(versions.join(', '))
  },
}

/** Only volumes need it. */
function isOptional(name: string): boolean {
  return name === definitionName(volumeManagers)
}

function versionProblem(stored: Partial<Definition> | undefined, version: string): string | undefined {
  if (stored === undefined) return 'missing'
  if (!stored.spec?.versions.some(({ name, served }) => name === version && served)) return `does not serve ${version}`
  const established = stored.status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True')
  return established ? undefined : 'not established yet'
}

function versionSchema(definition: Definition | undefined, version: string): unknown {
  return definition?.spec.versions.find(({ name }) => name === version)?.schema?.openAPIV3Schema
}
