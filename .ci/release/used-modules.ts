/**
 * Finds the files of npm packages that the build can load, directly or through other packages.
 *
 * They are copied as they are, so that stack traces name the packages' own files and lines. The one exception is client-node: of its 65 MB,
 * most are generated clients, and its modules import all of them. Its parts that Lodestone uses become one module.
 */
import { realpathSync } from 'node:fs'
import { join, sep } from 'node:path'
import { type Plugin, rolldown } from 'rolldown'

const CLIENT = '@kubernetes/client-node'
/** The names that Lodestone imports from client-node. */
const USED_OF_CLIENT = ['KubeConfig']
/** Loaded by name, with `createRequire`, which no static import shows. */
const LOADED_BY_NAME = ['pino-pretty']

export interface UsedModule {
  /** Relative to the project: `node_modules/…`. */
  path: string
  /** If it differs from the file. */
  content?: string
}

/** Traces all modules of the folder `build`. Throws if an import cannot be found. */
export async function usedModules(project: string, build: string, files: readonly string[]): Promise<UsedModule[]> {
  const packages = realpathSync(join(project, 'node_modules'))
  const client = { path: `node_modules/${CLIENT}/dist/index.js`, content: await bundledClient(project) }
  const ids = await tracedIds(project, build, files, client.content)
  const paths = ids
    .filter((id) => id.startsWith(packages + sep))
    .map((id) => `node_modules/${id.slice(packages.length + 1)}`)
    .filter((path) => path !== client.path)
  return [client, ...paths.map((path) => ({ path }))]
}

/** The parts of client-node as one module, unminified, with the imports of other packages as they are. */
async function bundledClient(project: string): Promise<string> {
  const entry = join(project, 'used-of-client-node.js')
  const bundle = await rolldown({
    cwd: project,
    input: entry,
    platform: 'node',
    external: (id) => id !== CLIENT && id !== entry && !/^[./]/.test(id),
    // Its modules only define classes and functions, so one that nothing uses can be left out.
    treeshake: { moduleSideEffects: false },
    plugins: [withContent(entry, `export { ${USED_OF_CLIENT.join(', ')} } from '${CLIENT}'`)],
  })
  const { output } = await bundle.generate({ format: 'esm', minify: false })
  await bundle.close()
  if (output.length !== 1) throw new Error(`client-node became ${output.length} modules instead of one`)
  return output[0].code
}

async function tracedIds(project: string, build: string, files: readonly string[], client: string): Promise<string[]> {
  const ids: string[] = []
  const clientId = realpathSync(join(project, 'node_modules', CLIENT, 'dist', 'index.js'))
  const bundle = await rolldown({
    cwd: project,
    input: [...files.map((file) => join(build, file)), ...LOADED_BY_NAME],
    platform: 'node',
    treeshake: false,
    plugins: [
      withContent(clientId, client),
      // The build is outside of the project, and its packages are in it.
      {
        name: 'packages-of-the-project',
        async resolveId(id, importer) {
          if (!importer?.startsWith(build + sep) || /^(\.|\/|node:)/.test(id)) return null
          return this.resolve(id, join(project, 'package.json'), { skipSelf: true })
        },
      },
      {
        name: 'traced',
        buildEnd() {
          ids.push(...this.getModuleIds())
        },
      },
    ],
    onLog(level, log) {
      if (log.code === 'UNRESOLVED_IMPORT') throw new Error(log.message)
      if (level === 'warn' && !['COMMONJS_VARIABLE_IN_ESM', 'EVAL'].includes(log.code ?? '')) console.warn(log.message)
    },
  })
  await bundle.generate({ format: 'esm' })
  await bundle.close()
  return ids
}

function withContent(id: string, content: string): Plugin {
  return {
    name: 'with-content',
    resolveId: (wanted) => (wanted === id ? id : null),
    load: (loaded) => (loaded === id ? { code: content, moduleType: 'js' } : null),
  }
}
