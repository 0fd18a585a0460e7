/** What the command line uses of the server before it starts one. It can change with every version. */

export { Gateway } from './gateway/gateway.ts';
export { readToolsConfig } from './gateway/tools-config.ts';
export { asksPersons } from './server/network-config.ts';
export {
  environmentName,
  parseSettingText,
  REDACTED,
  redactSettings,
  resolveSettings,
  settingKind,
  settingsFromEnvironment,
} from './server/resolve-settings.ts';
export type { ServerOptions } from './server/server-state.ts';
export {
  HTTP_SETTINGS,
  SETTING_NAMES,
  type ServerSettings,
  type ServerSettingsInput,
  type SettingName,
  serverSettings,
} from './server/settings.ts';
