/** Lists the configured data systems with the problems of their configurations, without a connection to them. */
import { basename } from 'node:path'
import { plugins } from '../plugins/index.ts'
import { parseSystemConfig, SystemConfigError } from './config.ts'
import { type ConfigFile, type ConfigSource, ConfigSourceError } from './source.ts'

export interface InspectedSystem {
  /** The name of the system; for an invalid configuration the name of its file, which is usually the same. */
  system: string
  problem?: string
}

/** Lists the systems of a source. A source that cannot be read counts as one invalid system. */
export async function inspectSystems(source: ConfigSource): Promise<InspectedSystem[]> {
  try {
    return (await source.read()).map(inspect)
  } catch (error) {
    if (!(error instanceof ConfigSourceError)) throw error
    return [{ system: basename(source.name), problem: `${source.name}: ${error.message}` }]
  }
}

function inspect(given: ConfigFile): InspectedSystem {
  const { file } = given
  const system = basename(file).replace(/\.(?:ya?ml|json)$/i, '')
  if ('problem' in given) return { system, problem: `${file}: ${given.problem}` }
  try {
    return { system: parseSystemConfig(file, given.text, plugins).system }
  } catch (error) {
    if (!(error instanceof SystemConfigError)) throw error
    return { system, problem: error.message }
  }
}
