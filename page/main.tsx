/** Entry point of the page. */
import { render } from 'preact';
import { takeToken } from './api.ts';
import { App } from './app.tsx';
import './styles/index.css';

takeToken();
render(<App />, document.getElementById('app')!);
