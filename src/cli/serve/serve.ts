/** `lodestone serve`: runs the server on a hub, in a cluster or on a folder of manifests. */
import { getHeapStatistics } from 'node:v8'
import { type App, startApp } from '../../app/app.ts'
import type { Config } from '../../app/config/config.ts'
import { configuredLimits } from '../../app/config/server-config.ts'
import { defined } from '../../base/json.ts'
import { aborted } from '../../base/time/clock.ts'
import { UserError } from '../../base/user-error.ts'
import type { ObjectStore } from '../../store/store.ts'
import { LOG_LEVELS } from '../../telemetry/log-levels.ts'
import { type Logger, openLogger } from '../../telemetry/logger.ts'
import { openMetrics } from '../../telemetry/metrics.ts'
import { type Arguments, type Command, type CommandIo, readArguments, UsageError, usesColor } from '../command.ts'
import { checkFolderAlone, connectionOptions } from '../options/connect.ts'
import { configOption } from '../options/read-config.ts'
import { containerBytes } from './heap-limit.ts'
import { folderHints } from './hints.ts'
import { memoryWarning } from './memory.ts'
import { openStores } from './open-stores.ts'
import { serveConfigOf } from './serve-config.ts'

export const serve: Command = {
  usage: '[--kubeconfig FILE | --folder DIR] [--config FILE]',
  options: {
    ...connectionOptions('The API server to serve, e.g. karmada-apiserver (default: $KUBECONFIG, then in-cluster)'),
    folder: { type: 'string', value: 'DIR', description: 'Serve a folder of manifests, without a cluster' },
    page: { type: 'boolean', description: 'With --folder: serve the page of lodestone ui too' },
    ...configOption('Configuration file (YAML), see docs/reference/configuration.md'),
    port: { type: 'string', value: 'PORT', description: 'Port for admission, 0 for a free one (default: 9443)' },
    'health-port': {
      type: 'string',
      value: 'PORT',
      description: 'Port for probes and metrics, 0 for a free one (default: 8080)',
    },
    'log-level': {
      type: 'string',
      value: 'LEVEL',
      values: LOG_LEVELS,
      description: `One of ${LOG_LEVELS.join(', ')} (default: info)`,
    },
  },
  examples: [
    { command: 'lodestone serve --folder examples/hub', does: 'Try it without a cluster' },
    {
      command: 'lodestone serve --kubeconfig karmada-apiserver.config --config lodestone.yaml',
      does: 'Serve a Karmada hub',
    },
    { command: 'lodestone serve --config /etc/lodestone/config.yaml', does: 'In a pod, with its service account' },
  ],
  run: runServe,
}

async function runServe(args: Arguments, io: CommandIo): Promise<number> {
  const folder = args.text('folder')
  checkFolderAlone(args)
  if (args.flag('page') && folder === undefined)
    throw new UsageError('--page needs --folder; the page of an API server is a process of its own: lodestone ui')
  const config = serveConfigOf(args, io)
  // A server whose log has no reader ends in order, as other programs end by SIGPIPE.
  const closedLog = new AbortController()
  const signal = AbortSignal.any([io.signal, closedLog.signal])
  const { log, close: closeLog } = openLogger({
    ...config.log,
    output: io.stderr,
    colorize: usesColor(io.stderr, io.env),
    onClosed: () => closedLog.abort(),
  })
  const metrics = openMetrics()
  const stores = await openStores(args, io, { config, log, metrics })
  const { store } = stores
  logMemory(config, io, log)
  let app: App | undefined
  let page: Promise<void> | undefined
  try {
    const file = args.text('config')
    const configSource = file === undefined ? undefined : { file, read: () => serveConfigOf(args, io) }
    const starting = startApp({ config, configSource, ...stores, log, metrics, now: io.now })
    app = await Promise.race([starting, aborted(signal)])
    if (!app) return stopStarting(starting)
    log.info({ admissionPort: app.ports.admission, healthPort: app.ports.health }, 'serving')
    await Promise.race([app.ready, aborted(signal)])
    // The caches of an API server that does not respond have no sizes.
    if (signal.aborted) return 0
    log.info({ objects: memorySizes(store) }, 'ready')
    if (folder !== undefined) {
      io.stdout.write(folderHints(folder, config, app.ports, io.env))
      if (args.flag('page')) page = servePage(args, { ...io, signal })
    }
    await aborted(signal)
  } finally {
    await page
    await app?.stop()
    await closeLog()
  }
  return 0
}

/** Serves the page of the folder until the end, with the configuration of the server. Without a built page, the server goes on. */
async function servePage(args: Arguments, io: CommandIo): Promise<void> {
  const { ui } = await import('../ui/ui.ts')
  const words = ['folder', 'config'].flatMap((option) => {
    const value = args.text(option)
    return value === undefined ? [] : [`--${option}=${value}`]
  })
  try {
    await ui.run(readArguments({ ...ui, name: 'ui', summary: '' }, words), io)
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    io.stderr.write(`lodestone serve: ${error.message}\n`)
  }
}

function logMemory({ server }: Config, { env }: CommandIo, log: Logger): void {
  const { bytesInFlight } = configuredLimits(server)
  const { heap_size_limit: heapBytes } = getHeapStatistics()
  const bytes = containerBytes(env)
  const inMib = (value: number) => Math.round(value / 2 ** 20)
  log.info(
    defined({
      containerMib: bytes === undefined ? undefined : inMib(bytes),
      heapLimitMib: inMib(heapBytes),
      bytesInFlightMib: inMib(bytesInFlight),
    }),
    'memory limits',
  )
  const warning = bytes !== undefined && memoryWarning({ containerBytes: bytes, heapBytes, bytesInFlight })
  if (warning) log.warn(warning)
}

/** Stops a server that is still starting. The process does not wait for it, since the start may wait for an API server. */
function stopStarting(starting: Promise<App>): number {
  starting.then((app) => app.stop()).catch(() => undefined)
  return 0
}

/** The number of objects of each kind that has any. */
function memorySizes(store: ObjectStore): Record<string, number> {
  const sizes = store.kinds().map((type) => [type.kind, store.size(type)] as const)
  return Object.fromEntries(sizes.filter(([, size]) => size > 0))
}
