/** The floors of docs/architecture.md: a part imports only what stands below it; equals on one floor are strangers. */
const floors = [
  ['api'],
  ['core'],
  ['time'],
  ['store', 'locality', 'tls', 'telemetry', 'mover'],
  ['queries'],
  ['webhooks', 'reconcile'],
  ['server'],
  ['app'],
  ['cli'],
]
/** What plugins share, and their table: every other file of the folder is a plugin. */
const PLUGIN_PARTS = '^src/locality/plugins/(index|plugin|name-nodes)\\.ts$'
const at = (names) => `^src/(${names.join('|')})/`
const error = (name, from, to) => ({ name, severity: 'error', from, to })

module.exports = {
  forbidden: [
    ...floors
      .slice(0, -1)
      .map((floor, i) =>
        error(
          `floor-${i}-looks-down-only`,
          { path: at(floor) },
          { path: [at(floors.slice(i + 1).flat()), '^src/main\\.ts$'] },
        ),
      ),
    ...floors
      .filter((floor) => floor.length > 1)
      .map((floor) =>
        error(
          `equals-are-strangers-${floor[0]}`,
          { path: at(floor) },
          {
            path: at(floor),
            pathNot: [
              '^src/$1/',
              '^src/telemetry/',
              '^src/store/(store|for-each-in-slices)\\.ts$',
              '^src/locality/plugins/plugin\\.ts$',
            ],
          },
        ),
      ),
    error('core-is-pure', { path: '^src/(api|core)/', pathNot: '\\.test\\.ts$' }, { dependencyTypes: ['core'] }),
    error(
      'core-libraries',
      { path: '^src/(api|core)/', pathNot: '\\.test\\.ts$' },
      {
        dependencyTypes: ['npm', 'npm-dev', 'npm-no-pkg', 'npm-unknown'],
        pathNot: 'node_modules/(fast-json-patch|ajv|ipaddr\\.js)/',
      },
    ),
    error(
      'queries-know-what-is-cached',
      { path: '^src/queries/', pathNot: '\\.test\\.ts$' },
      { path: '^src/store/', pathNot: '^src/store/(store\\.ts$|kinds/)' },
    ),
    error(
      'interfaces-only',
      { path: '^src/(webhooks|reconcile|server)/', pathNot: '\\.test\\.ts$' },
      { path: '^src/store/', pathNot: '^src/store/(store|for-each-in-slices)\\.ts$' },
    ),
    error(
      'plugins-are-strangers',
      { path: '^src/locality/plugins/([a-z0-9-]+)\\.ts$', pathNot: PLUGIN_PARTS },
      { path: '^src/locality/plugins/[a-z0-9-]+\\.ts$', pathNot: [PLUGIN_PARTS, '^src/locality/plugins/$1\\.ts$'] },
    ),
    error(
      'one-kubernetes-client',
      { pathNot: '^src/store/cluster/connection\\.ts$' },
      { path: '@kubernetes/client-node' },
    ),
    error(
      'no-test-code-in-source',
      { path: '^src/', pathNot: '\\.(test|suite|fake)\\.ts$' },
      { path: '(\\.(test|suite|fake)\\.ts$|^test/)' },
    ),
    error('no-cycles', {}, { circular: true }),
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.check.json' },
    doNotFollow: { path: 'node_modules' },
  },
}
