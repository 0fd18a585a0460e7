/** Entry point of the app that shows results in MCP clients. */
import { render } from 'preact';
import { App } from './app.tsx';
import './styles.css';
import { followPreference } from './theme.ts';

followPreference();
render(<App />, document.getElementById('app')!);
